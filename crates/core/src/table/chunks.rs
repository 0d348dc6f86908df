//! A list that grows without being copied.

/// A list in chunks: growing never moves or copies an element.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    chunks: Vec<Vec<T>>,
}

/// Elements of a chunk.
const CHUNK: usize = 256;

impl<T> Chunks<T> {
    pub(super) fn new() -> Chunks<T> {
        Chunks { chunks: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.chunks
            .last()
            .map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    pub(super) fn get(&self, at: u32) -> &T {
        &self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }

    /// Adds an element and gives its number.
    pub(super) fn push(&mut self, element: T) -> u32 {
        let number = self.len() as u32;
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.push(element);
        }
        number
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// Takes all elements out.
    pub(super) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.chunks).into_iter().flatten()
    }
}

//! A hash of what clients send, the same in every version of the program, for logs: FNV-1a.

/// A hash under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digest(u64);

impl Digest {
    pub(super) fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// A list of numbers, told apart from those around it by its length.
    pub(super) fn numbers(&mut self, numbers: &[u16]) {
        self.bytes(&(numbers.len() as u16).to_be_bytes());
        numbers
            .iter()
            .for_each(|number| self.bytes(&number.to_be_bytes()));
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}

/// Numbers that clients draw by chance so that servers ignore what they do not know (RFC 8701).
pub(super) fn is_grease(number: u16) -> bool {
    number & 0x0f0f == 0x0a0a && number >> 8 == number & 0xff
}

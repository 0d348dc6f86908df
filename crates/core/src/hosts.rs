//! The sites of one log, by number: where the owner asks for it, each is judged for itself.

use std::collections::BTreeMap;

/// Bits of a host's number.
pub const HOST_BITS: u32 = 10;

/// The number of all hosts behind the last that has one of its own. A client may invent names; they must not fill the memory.
const OTHERS: u16 = (1 << HOST_BITS) - 1;

/// Bytes of a name that are kept: as long as names of hosts can be.
const NAME_BYTES_MAX: usize = 253;

/// Hosts by number, in the order of their first request. Number 0 means that the log names none, or that nobody asked.
#[derive(Debug, Default)]
pub struct Hosts {
    names: Vec<Box<[u8]>>,
    numbers: BTreeMap<Box<[u8]>, u16>,
}

/// Hosts that one block of lines names for the first time. Other blocks are read at the same time: the numbers are provisional.
#[derive(Debug, Default)]
pub struct NewHosts(Hosts);

impl Hosts {
    /// The host's number; a new one where there is still one to give.
    fn add(&mut self, name: &[u8]) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u16 + 1;
        if number >= OTHERS {
            return OTHERS;
        }
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// The number of a host as far as it is known: of a new one a provisional number.
    pub fn number(&self, host: &[u8], new: &mut NewHosts) -> u16 {
        let name = host[..host.len().min(NAME_BYTES_MAX)].to_ascii_lowercase();
        let name = name.strip_suffix(b".").unwrap_or(&name);
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        match new.0.add(name) {
            OTHERS => OTHERS,
            number => number | PROVISIONAL,
        }
    }

    /// Gives the new hosts of a block their numbers: from a provisional one to the one that stays.
    pub fn settle(&mut self, new: &NewHosts) -> impl Fn(u16) -> u16 + use<> {
        let numbers: Vec<u16> = new.0.names.iter().map(|name| self.add(name)).collect();
        move |number| match number & PROVISIONAL {
            0 => number,
            _ => numbers[usize::from(number & !PROVISIONAL) - 1],
        }
    }

    /// The name of a host.
    pub fn name(&self, number: u16) -> &[u8] {
        match number {
            0 => b"(no host)",
            OTHERS => b"(other hosts)",
            _ => &self.names[usize::from(number) - 1],
        }
    }
}

impl NewHosts {
    /// True where a block names none.
    pub fn is_empty(&self) -> bool {
        self.0.names.is_empty()
    }
}

/// Marks numbers that hold for one block only.
const PROVISIONAL: u16 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_log_however_it_is_cut_into_blocks() {
        let log = ["b.example", "A.example.", "b.example", "c.example"];
        let read = |blocks: &[&[&str]]| -> Vec<u16> {
            let mut hosts = Hosts::default();
            let mut numbers = Vec::new();
            // All blocks are read before the first is settled, as threads may do it.
            let read: Vec<(NewHosts, Vec<u16>)> = blocks
                .iter()
                .map(|block| {
                    let mut new = NewHosts::default();
                    let numbers = block
                        .iter()
                        .map(|host| hosts.number(host.as_bytes(), &mut new))
                        .collect();
                    (new, numbers)
                })
                .collect();
            for (new, provisional) in &read {
                let settled = hosts.settle(new);
                numbers.extend(provisional.iter().map(|number| settled(*number)));
            }
            numbers
        };
        assert_eq!(read(&[&log]), [1, 2, 1, 3]);
        assert_eq!(read(&[&log[..1], &log[1..]]), [1, 2, 1, 3]);
        assert_eq!(read(&[&log[..2], &log[2..]]), [1, 2, 1, 3]);
    }

    #[test]
    fn invented_hosts_share_one_number() {
        let mut hosts = Hosts::default();
        let mut new = NewHosts::default();
        let numbers: Vec<u16> = (0..5000)
            .map(|host| hosts.number(format!("h{host}").as_bytes(), &mut new))
            .collect();
        let settled = hosts.settle(&new);
        assert_eq!(settled(numbers[1021]), 1022);
        assert_eq!(settled(numbers[1022]), OTHERS);
        assert_eq!(hosts.name(settled(numbers[4999])), b"(other hosts)");
        assert_eq!(hosts.names.len(), 1022);
    }
}

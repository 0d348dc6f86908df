//! The requests of a log one by one, in the order of time: for what must see them as a gate does.

use super::Analysis;
use super::Block;
use crate::profile::Record;

impl Analysis {
    /// Gives every request of some blocks to `each`, in the order of time within these blocks, and keeps nothing of them. Lines that an
    /// analysis leaves out are left out.
    pub fn replay(&mut self, blocks: &[Block], mut each: impl FnMut(&Record)) {
        let mut parsed = self.parse(blocks);
        let records = parsed.iter_mut().flat_map(|parsed| &mut parsed.records);
        let mut records: Vec<Record> = records.flat_map(|records| records.drain(..)).collect();
        records.retain(|record| !record.is_dead());
        // One second's requests stay in the order of their sources' tables, which is the same in every run.
        records.sort_by_key(|record| (record.time, record.source()));
        records.iter().for_each(&mut each);
        self.keep_room(parsed);
    }
}

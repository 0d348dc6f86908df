//! The requests of a log one by one, in the order of time: for what must see them as a gate does.

use super::Analysis;
use super::Block;
use crate::profile::Record;

impl Analysis {
    /// Gives every request of some blocks to `each`, in the order of time within these blocks, and keeps nothing of them. Lines that an
    /// analysis leaves out are left out, and those that wait for more blocks come with the next or, where there are none, at once.
    pub fn replay(&mut self, blocks: &[Block], mut each: impl FnMut(&Record)) {
        let runs = self.put_in_order(blocks);
        let records = runs.iter().flat_map(|run| run.records.iter().flatten());
        let mut records: Vec<Record> = records.copied().collect();
        records.sort_by_key(|record| (record.time, record.source()));
        records.iter().for_each(&mut each);
        self.queue.keep_room(runs);
    }
}

//! Seals: a hash of each row, and the sum of all seals of a table, so that a row that was changed, lost or doubled by a failing disk is
//! noticed. They do not stop somebody who may write the file.

use rapidhash::v3::RapidSecrets;
use rapidhash::v3::rapidhash_v3_seeded;

/// Fixed: the same row has the same seal everywhere.
const SECRETS: RapidSecrets = RapidSecrets::seed_cpp(0x6361_7474_6c65);

/// The seal of a row: of its fields with their lengths.
pub(crate) fn seal<'a>(fields: impl IntoIterator<Item = Option<&'a str>>) -> i64 {
    let mut bytes = Vec::with_capacity(256);
    for field in fields {
        match field {
            None => bytes.push(0),
            Some(text) => {
                bytes.push(1);
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
    rapidhash_v3_seeded(&bytes, &SECRETS) as i64
}

/// Rows of a table and the sum of their seals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) rows: i64,
    pub(crate) sum: i64,
}

impl Total {
    pub(crate) fn add(&mut self, seal: i64) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(seal);
    }

    pub(crate) fn remove(&mut self, seal: i64) {
        self.rows -= 1;
        self.sum = self.sum.wrapping_sub(seal);
    }
}

//! Autonomous systems: which provider or company announces an address, where the owner has a database of them.

use maxminddb::Reader;
use serde::Deserialize;

use crate::networks::network_of;
use crate::request::Source;
use crate::text::printable;

/// A database in MaxMind's format (GeoLite2 ASN, DB-IP, IPinfo).
pub struct AutonomousSystems(Reader<Vec<u8>>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutonomousSystem {
    /// Its number.
    pub number: u32,
    /// Who runs it, as the database says.
    pub name: String,
}

impl std::fmt::Debug for AutonomousSystems {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("AutonomousSystems")
            .finish_non_exhaustive()
    }
}

/// The fields of the databases we know, by the names each of them gives.
#[derive(Deserialize)]
struct Row<'a> {
    autonomous_system_number: Option<u32>,
    #[serde(borrow)]
    autonomous_system_organization: Option<&'a str>,
    #[serde(borrow)]
    asn: Option<&'a str>,
    #[serde(borrow)]
    as_name: Option<&'a str>,
}

impl AutonomousSystems {
    /// Checks a database whole, as if an enemy had written it.
    pub fn new(bytes: Vec<u8>) -> Result<AutonomousSystems, String> {
        let reader = Reader::from_source(bytes)
            .map_err(|error| format!("it is no database in MaxMind's format (.mmdb): {error}"))?;
        reader
            .verify()
            .map_err(|error| format!("the database is damaged: {error}"))?;
        let kind = &reader.metadata().database_type;
        let tells = ["asn", "isp", "enterprise", "lite", "as-"];
        if !tells
            .iter()
            .any(|name| kind.to_ascii_lowercase().contains(name))
        {
            return Err(format!(
                "it is a database of the type '{}'; one with autonomous systems is needed, such as GeoLite2-ASN",
                printable(kind.as_bytes())
            ));
        }
        Ok(AutonomousSystems(reader))
    }

    /// The system that announces a source, where the database knows it.
    pub fn of(&self, source: Source) -> Option<AutonomousSystem> {
        self.read(source, |row, number| AutonomousSystem {
            number,
            name: printable(
                row.autonomous_system_organization
                    .or(row.as_name)
                    .unwrap_or("")
                    .as_bytes(),
            ),
        })
    }

    /// Its number alone.
    pub fn number(&self, source: Source) -> Option<u32> {
        self.read(source, |_, number| number)
    }

    fn read<T>(&self, source: Source, take: impl Fn(&Row<'_>, u32) -> T) -> Option<T> {
        let address = network_of(source)?.addr();
        // An address that the database cannot hold, or a row of another shape, tells nothing.
        let row: Row<'_> = self.0.lookup(address).ok()?.decode().ok()??;
        let written = || row.asn?.strip_prefix("AS")?.parse().ok();
        let number = row.autonomous_system_number.or_else(written)?;
        Some(take(&row, number))
    }
}

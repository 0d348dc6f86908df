//! Networks of IPv6: whoever has many of them is counted at every length that a provider hands out.

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::each;
use crate::harness::say;
use crate::solve::Browser;

const PROXY: &str = "127.0.0.77";

fn gate(origin: &Origin) -> Gate {
    Gate::with(
        origin,
        Wanted {
            gate: format!("trusted_proxies = [\"{PROXY}\"]"),
            ..Wanted::default()
        },
    )
}

/// Pages that come from these addresses, each asking for so many.
fn taken(gate: &Gate, addresses: &[String], pages: usize) -> usize {
    let parts: Vec<&[String]> = addresses.chunks(addresses.len().div_ceil(8)).collect();
    let got = each(&parts, |addresses| {
        let mut proxy = Browser::new(PROXY, gate.address);
        proxy.keeps_cookies = false;
        let mut got = 0;
        for address in *addresses {
            let headers = [("X-Forwarded-For", address.as_str())];
            got += (0..pages)
                .filter(|page| proxy.send("GET", &format!("/{page}"), &headers, "").status == 200)
                .count();
        }
        got
    });
    got.iter().sum()
}

#[test]
fn h204_many_networks_of_one_owner_are_contained_as_one() {
    let origin = Origin::start();
    let mut gate = gate(&origin);
    withstands(&mut gate, |gate| {
        // 256 /48 of one /40, eight /64 of each.
        let wide: Vec<String> = (0..2048)
            .map(|at| format!("2001:db8:{:x}:{:x}::1", at / 8, 256 * (at % 8)))
            .collect();
        // 4,096 /56 of one /44, in another /40.
        let narrow: Vec<String> = (0..4096)
            .map(|at| format!("2001:db8:{:x}:{:x}::1", 0x100 + at / 256, 256 * (at % 256)))
            .collect();
        // All /64 of one /56.
        let one: Vec<String> = (0..256)
            .map(|at| format!("2001:db8:200:{at:x}::1"))
            .collect();
        let got = [
            taken(gate, &wide, 20),
            taken(gate, &narrow, 10),
            taken(gate, &one, 20),
        ];
        say(&format!(
            "256 /48 of a /40: {} of 40960 pages; 4096 /56 of a /44: {} of 40960; 256 /64 of a /56: {} of 5120",
            got[0], got[1], got[2]
        ));
        must(
            got[0] <= 4000 && got[1] <= 4000 && got[2] <= 250,
            "too many",
        )
    });
}

#[test]
fn h204_a_providers_customers_do_not_notice_each_other_nor_a_crawler_among_them() {
    let origin = Origin::start();
    let mut gate = gate(&origin);
    withstands(&mut gate, |gate| {
        // One customer asks without end from all of its /56, and from a single address.
        let crawler: Vec<String> = (0..256)
            .map(|at| format!("2001:db8:300:{at:x}::1"))
            .collect();
        taken(gate, &crawler, 100);
        taken(gate, &["2001:db8:300:ff00::1".to_owned()], 20_000);
        // 700 telephones with a /64 each and 700 homes with a /56 each, of the same provider and partly of the same /48.
        let people: Vec<String> = (0..700)
            .flat_map(|at| {
                let phone = format!("2001:db8:{:x}:{:x}::1", 0x301 + at / 128, 7 * at);
                let home = format!(
                    "2001:db8:{:x}:{:x}::1",
                    0x300 + at / 100,
                    0x100 * (1 + at % 100)
                );
                [phone, home]
            })
            .collect();
        let got = taken(gate, &people, 2);
        say(&format!("{got} of {} pages of people", 2 * people.len()));
        must(got == 2 * people.len(), &format!("{got}"))
    });
}

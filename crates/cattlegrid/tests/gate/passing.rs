//! What passes reaches the site as it was sent, and comes back as it was answered.

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::get;

#[test]
fn people_pass_up_to_the_first_limit_and_are_challenged_then() {
    let origin = Origin::start();
    let mut gate = Gate::start(&origin);
    let before = gate.before();
    for page in 0..20 {
        let answer = get(gate.address, &format!("/page{page}"), &[]);
        assert_eq!(
            (answer.status, answer.text()),
            (200, format!("you asked for /page{page}"))
        );
    }
    let answer = get(gate.address, "/page20", &[]);
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("/.cattlegrid/"), "{}", answer.text());
    assert!(!origin.has_seen("/page20"));
    gate.check_after(&before);
}

//! The ways of visitors through a site.

use serde_json::Value;

use crate::run;
use crate::stdout;

#[test]
fn sealed_links_cost_what_the_paper_says() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let html = page.to_str().unwrap();
    let output = run(&["paths", "suppression", "--runs", "5", "--html", html]);
    assert!(output.status.success());
    let text = stdout(&output);
    assert!(
        text.contains("Figure 4") && text.contains("2,881 %"),
        "{text}"
    );
    let drawn = std::fs::read_to_string(page).unwrap();
    assert_eq!(drawn.matches("<polyline").count(), 2);
    let output = run(&["paths", "suppression", "--runs", "5", "--json", "-"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let half = &json["figure_5"][9];
    assert_eq!(half["share"], 0.5);
    let downloads = half["downloads"].as_f64().unwrap();
    assert!((2.3..=2.6).contains(&downloads), "{downloads}");
    assert!(
        !run(&["paths", "suppression", "--runs", "0"])
            .status
            .success()
    );
}

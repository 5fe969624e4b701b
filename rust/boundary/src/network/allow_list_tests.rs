use super::*;
use rstest::rstest;

fn list(text: &str) -> AllowList {
    AllowList::parse(text.split(',')).unwrap()
}

#[rstest]
#[case::exact("example.org:443", "example.org", 443, Some("example.org:443"))]
#[case::case("Example.ORG:443", "example.org", 443, Some("example.org:443"))]
#[case::other_port("example.org:443", "example.org", 80, None)]
#[case::beneath_is_not_exact("example.org:443", "a.example.org", 443, None)]
#[case::longer("example.org:443", "example.org.evil.test", 443, None)]
#[case::ends_alike("example.org:443", "badexample.org", 443, None)]
#[case::beneath("*.example.org:443", "a.example.org", 443, Some("*.example.org:443"))]
#[case::far_beneath("*.example.org:443", "a.b.example.org", 443, Some("*.example.org:443"))]
#[case::the_domain_itself("*.example.org:443", "example.org", 443, None)]
#[case::domain_ends_alike("*.example.org:443", "badexample.org", 443, None)]
#[case::address("127.0.0.1:80", "127.0.0.1", 80, Some("127.0.0.1:80"))]
#[case::address_by_name("127.0.0.1:80", "localhost", 80, None)]
#[case::six("[::1]:80", "[0:0::1]", 80, Some("[::1]:80"))]
#[case::second("a.test:1,b.test:2+private", "b.test", 2, Some("b.test:2+private"))]
fn an_entry_means_what_it_says(
    #[case] written: &str,
    #[case] host: &str,
    #[case] port: u16,
    #[case] expected: Option<&str>,
) {
    let host = HostName::parse(host.as_bytes()).unwrap();
    let found = list(written).entry_for(&host, port).map(ToString::to_string);
    assert_eq!(found.as_deref(), expected);
}

#[rstest]
#[case::no_port("example.org")]
#[case::star_alone("*:443")]
#[case::star_and_one_label("*.org:443")]
#[case::star_inside("a.*.org:443")]
#[case::star_and_address("*.0.0.1:443")]
#[case::star_twice("*.*.example.org:443")]
#[case::scheme("https://example.org:443")]
#[case::path("example.org:443/x")]
#[case::unknown_word("example.org:443+public")]
#[case::private_address("10.0.0.1:443+private")]
#[case::empty("")]
#[case::an_empty_one("a.test:1,,b.test:2")]
fn what_is_no_entry_is_refused_by_its_name(#[case] written: &str) {
    let error = AllowList::parse(written.split(',')).unwrap_err();
    assert_eq!(error.code(), "network_entry_invalid");
}

#[test]
fn a_list_has_one_to_128_entries_and_reads_as_it_is_written() {
    let entries: Vec<String> = (1..=129).map(|number| format!("h{number}.test:443")).collect();
    AllowList::try_from(entries.clone()).unwrap_err();
    AllowList::try_from(Vec::new()).unwrap_err();
    let entries = entries[..128].to_vec();
    let list = AllowList::try_from(entries.clone()).unwrap();
    assert_eq!(Vec::from(list), entries);
    let network: crate::Network = "allow:a.test:1,[::1]:2,*.b.test:3+private".parse().unwrap();
    assert_eq!(network.to_string(), "allow:a.test:1,[::1]:2,*.b.test:3+private");
    let json = serde_json::to_value(&network).unwrap();
    assert_eq!(
        json,
        serde_json::json!({ "allow": ["a.test:1", "[::1]:2", "*.b.test:3+private"] })
    );
    assert_eq!(serde_json::from_value::<crate::Network>(json).unwrap(), network);
    for other in ["", "Host", "allow", "allow:", "deny:a.test:1"] {
        other.parse::<crate::Network>().unwrap_err();
    }
}

#[rstest]
#[case::public("a.test:1", "93.184.215.14", true)]
#[case::private("a.test:1", "10.1.2.3", false)]
#[case::said_so("a.test:1+private", "10.1.2.3", true)]
#[case::metadata("a.test:1", "169.254.169.254", false)]
#[case::written_out("127.0.0.1:1", "127.0.0.1", true)]
fn a_name_leads_to_public_addresses_unless_its_entry_says_more(
    #[case] written: &str,
    #[case] address: IpAddr,
    #[case] expected: bool,
) {
    let list = list(written);
    let entry = list.entries.first().unwrap();
    assert_eq!(entry.may_lead_to(address).is_ok(), expected);
}

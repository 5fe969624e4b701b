use super::*;
use coder_process::Reason;
use rstest::rstest;
use std::ffi::OsString;

fn asked(value: Option<&str>, cancel: Cancel) -> Result<Patience, Error> {
    let value = value.map(OsString::from);
    Patience::of(&move |name| value.clone().filter(|_| name == VARIABLE), cancel)
}

#[rstest]
#[case::default(None, 600)]
#[case::none(Some("0"), 0)]
#[case::day(Some("86400"), 86_400)]
fn how_long(#[case] value: Option<&str>, #[case] seconds: u64) {
    assert_eq!(
        asked(value, Cancel::never()).unwrap().most,
        Duration::from_secs(seconds)
    );
}

#[rstest]
#[case("")]
#[case("-1")]
#[case("1.5")]
#[case("86401")]
#[case("soon")]
fn what_is_no_length(#[case] value: &str) {
    let error = asked(Some(value), Cancel::never()).unwrap_err();
    assert_eq!(
        (error.code(), error.message().as_str()),
        (
            "configuration",
            "the variable MICROCODER_DISK_WAIT_SECONDS must be a whole number of seconds, at most 86400"
        )
    );
}

#[test]
fn it_ends_when_all_is_waited_and_at_once_when_stopped() {
    let mut waited = Duration::ZERO;
    let short = super::of(Duration::from_millis(120));
    assert!(short.wait(&mut waited));
    assert_eq!(waited, Duration::from_millis(120));
    assert!(!short.wait(&mut waited));
    let cancel = Cancel::new().unwrap();
    cancel.cancel(Reason::Requested);
    let mut waited = Duration::ZERO;
    assert!(!asked(None, cancel).unwrap().wait(&mut waited));
    assert_eq!(waited, Duration::ZERO);
}

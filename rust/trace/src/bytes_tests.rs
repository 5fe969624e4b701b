use super::*;
use proptest::prelude::*;
use rstest::rstest;

proptest! {
    #[test]
    fn every_byte_string_survives_in_both_forms(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let text = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<Bytes>(&text).unwrap(), Bytes(bytes.clone()));
        // Trap l: the older form is an array of integers.
        let older = serde_json::to_string(&bytes).unwrap();
        prop_assert_eq!(serde_json::from_str::<Bytes>(&older).unwrap(), Bytes(bytes));
    }
}

#[test]
fn the_written_form_is_base64() {
    assert_eq!(serde_json::to_string(&Bytes(b"a\xff".to_vec())).unwrap(), "\"Yf8=\"");
}

#[rstest]
#[case::too_large("[256]")]
#[case::negative("[-1]")]
#[case::float("[1.5]")]
#[case::not_base64("\"***\"")]
#[case::unpadded("\"Yf8\"")]
#[case::object("{}")]
#[case::null("null")]
fn anything_else_is_refused(#[case] text: &str) {
    assert!(serde_json::from_str::<Bytes>(text).is_err());
}

use super::*;
use proptest::prelude::*;
use rstest::rstest;

const TYPE: &str = "application/vnd.in-toto+json";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32]).unwrap()
}

fn signed() -> Envelope {
    Envelope::sign(TYPE, b"{\"a\":1}".to_vec(), &key(7))
}

#[test]
fn what_is_signed_is_the_pre_authentication_encoding_of_the_specification() {
    // The specification's own example.
    let expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
    assert_eq!(encoded("http://example.com/HelloWorld", b"hello world"), expected);
}

#[test]
fn an_envelope_is_read_back_as_written_and_only_its_key_verifies() {
    let envelope = signed();
    let read = Envelope::parse(envelope.to_json().as_bytes()).unwrap();
    assert_eq!(read, envelope);
    assert_eq!(read.signatures()[0].key_id, key(7).verifying_key().key_id().as_str());
    read.verify(&key(7).verifying_key()).unwrap();
    assert_eq!(
        read.verify(&key(8).verifying_key()).unwrap_err().code(),
        "bad_signature"
    );
}

#[rstest]
#[case::payload(|envelope: &mut Envelope| envelope.payload[0] ^= 1)]
#[case::longer(|envelope: &mut Envelope| envelope.payload.push(b' '))]
#[case::kind(|envelope: &mut Envelope| envelope.payload_type.push('x'))]
#[case::signature(|envelope: &mut Envelope| envelope.signatures[0].bytes[0] ^= 1)]
#[case::no_bytes(|envelope: &mut Envelope| envelope.signatures[0].bytes.clear())]
fn nothing_signed_can_be_changed(#[case] change: fn(&mut Envelope)) {
    let mut envelope = signed();
    change(&mut envelope);
    assert_eq!(
        envelope.verify(&key(7).verifying_key()).unwrap_err().code(),
        "bad_signature"
    );
}

#[test]
fn a_signature_is_believed_for_what_it_is_and_not_for_the_key_it_names() {
    let mut envelope = signed();
    envelope.signatures[0].key_id = key(8).verifying_key().key_id().as_str().to_owned();
    envelope.verify(&key(7).verifying_key()).unwrap();
    envelope.verify(&key(8).verifying_key()).unwrap_err();
    // One good signature among others is enough.
    let other = Signature {
        key_id: String::new(),
        bytes: vec![0; 64],
    };
    envelope.signatures.insert(0, other);
    envelope.verify(&key(7).verifying_key()).unwrap();
}

#[rstest]
#[case::no_json("{")]
#[case::a_list("[]")]
#[case::no_payload(r#"{"payloadType":"t","signatures":[{"sig":""}]}"#)]
#[case::no_signatures(r#"{"payload":"","payloadType":"t","signatures":[]}"#)]
#[case::not_base64(r#"{"payload":"%","payloadType":"t","signatures":[{"sig":""}]}"#)]
#[case::twice(r#"{"payload":"","payload":"","payloadType":"t","signatures":[{"sig":""}]}"#)]
fn what_is_no_envelope(#[case] text: &str) {
    assert_eq!(Envelope::parse(text.as_bytes()).unwrap_err().code(), "bad_envelope");
}

#[test]
fn both_alphabets_and_fields_of_others_are_read() {
    let text = r#"{"payload":"_-8=","payloadType":"t","signatures":[{"sig":"+/8=","more":1}],"more":2}"#;
    let read = Envelope::parse(text.as_bytes()).unwrap();
    assert_eq!(
        (read.payload(), read.signatures()[0].key_id.as_str()),
        ([0xff, 0xef].as_slice(), "")
    );
}

proptest! {
    #[test]
    fn any_bytes_are_an_envelope_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Envelope::parse(&bytes);
    }

    #[test]
    fn any_payload_comes_back(payload in proptest::collection::vec(any::<u8>(), 0..300), kind in ".{0,20}") {
        let envelope = Envelope::sign(&kind, payload, &key(1));
        let read = Envelope::parse(envelope.to_json().as_bytes()).unwrap();
        prop_assert_eq!(&read, &envelope);
        prop_assert!(read.verify(&key(1).verifying_key()).is_ok());
    }
}

use super::*;
use rstest::rstest;

fn read(bytes: &[u8]) -> Result<(HostName, u16), String> {
    let (start, rest) = bytes.split_first_chunk::<5>().unwrap();
    let length = length_after(*start).map_err(|(answer, reason)| format!("{answer:?}: {reason}"))?;
    assert_eq!(rest.len(), length, "the case has the wrong length");
    target(*start, rest).map_err(str::to_owned)
}

#[rstest]
#[case::exact_name(b"\x05\x01\x00\x03\x06A.test\x01\xbb".as_slice(), Some("a.test:443"))]
#[case::four(b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50".as_slice(), Some("127.0.0.1:80"))]
#[case::four_as_name(b"\x05\x01\x00\x03\x09127.0.0.1\x00\x50".as_slice(), Some("127.0.0.1:80"))]
#[case::six(
    b"\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50".as_slice(),
    Some("[2001:db8::1]:80")
)]
#[case::mapped(b"\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x50".as_slice(), None)]
#[case::nul_in_name(b"\x05\x01\x00\x03\x08a.test\0x\x00\x50".as_slice(), None)]
#[case::empty_name(b"\x05\x01\x00\x03\x00\x00\x50".as_slice(), None)]
#[case::dot_at_the_end(b"\x05\x01\x00\x03\x07a.test.\x00\x50".as_slice(), None)]
#[case::short_number(b"\x05\x01\x00\x03\x05127.1\x00\x50".as_slice(), None)]
#[case::port_zero(b"\x05\x01\x00\x03\x06a.test\x00\x00".as_slice(), None)]
fn the_address_of_a_request(#[case] bytes: &[u8], #[case] expected: Option<&str>) {
    let found = read(bytes).map(|(host, port)| format!("{host}:{port}")).ok();
    assert_eq!(found.as_deref(), expected);
}

#[rstest]
#[case::bind([5, 2, 0, 1, 0], Answer::CommandUnknown)]
#[case::datagrams([5, 3, 0, 1, 0], Answer::CommandUnknown)]
#[case::kind([5, 1, 0, 2, 0], Answer::AddressUnknown)]
#[case::reserved([5, 1, 1, 1, 0], Answer::Failed)]
#[case::version([4, 1, 0, 1, 0], Answer::Failed)]
fn what_is_no_connection_is_answered(#[case] start: [u8; 5], #[case] expected: Answer) {
    assert_eq!(length_after(start).unwrap_err().0, expected);
}

#[test]
fn only_clients_that_need_no_password_are_served() {
    assert_eq!(method(&[2, 0]), Ok([5, 0]));
    assert_eq!(method(&[2]), Err([5, 0xff]));
    assert_eq!(method(&[]), Err([5, 0xff]));
}

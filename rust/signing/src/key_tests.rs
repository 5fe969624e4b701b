use super::*;
use proptest::prelude::*;
use rstest::rstest;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// The key of RFC 8410, section 10.3, as printed there.
const RFC_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";
const RFC_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32]).unwrap()
}

#[test]
fn the_standards_own_key_is_read_and_written_as_printed() {
    let key = SigningKey::from_pem(RFC_PRIVATE.as_bytes()).unwrap();
    assert_eq!(key.verifying_key().to_pem(), RFC_PUBLIC);
    assert_eq!(
        VerifyingKey::from_pem(RFC_PUBLIC.as_bytes()).unwrap(),
        key.verifying_key()
    );
    assert_eq!(key.to_pem(), RFC_PRIVATE);
}

#[test]
fn a_pair_is_written_privately_and_never_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.key");
    let files = key().write(&path).unwrap();
    assert_eq!(files.public, folder.path().join("release.key.pub"));
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
    assert_eq!(mode(&files.private), 0o600);
    assert_eq!(SigningKey::read(&path).unwrap().verifying_key(), key().verifying_key());
    assert_eq!(VerifyingKey::read(&files.public).unwrap(), key().verifying_key());
    let before = fs::read(&path).unwrap();
    let other = SigningKey::from_seed(&[8; 32]).unwrap();
    assert_eq!(other.write(&path).unwrap_err().code(), "key_file");
    assert_eq!(fs::read(&path).unwrap(), before);
    // The public half alone is in the way: the private one must not be left without it.
    fs::remove_file(&path).unwrap();
    assert_eq!(other.write(&path).unwrap_err().code(), "key_file");
    assert!(!path.exists());
}

#[rstest]
#[case::group(0o640)]
#[case::others(0o604)]
#[case::writable(0o602)]
fn a_private_key_that_others_reach_is_refused(#[case] mode: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    key().write(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(SigningKey::read(&path).unwrap_err().code(), "key_not_private");
}

#[rstest]
#[case::nothing(b"".as_slice())]
#[case::other_words(b"hello")]
#[case::public_for_private(RFC_PUBLIC.as_bytes())]
#[case::two(b"-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----")]
#[case::encrypted(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4C\n-----END ENCRYPTED PRIVATE KEY-----")]
#[case::cut(b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp\n-----END PRIVATE KEY-----")]
#[case::not_utf8(b"\xff")]
fn what_is_no_private_key(#[case] text: &[u8]) {
    assert_eq!(SigningKey::from_pem(text).unwrap_err().code(), "bad_key");
}

#[test]
fn what_is_no_file_of_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    for path in [folder.path(), &missing, Path::new("/dev/zero")] {
        assert_eq!(
            SigningKey::read(path).unwrap_err().code(),
            "key_file",
            "{}",
            path.display()
        );
        assert_eq!(
            VerifyingKey::read(path).unwrap_err().code(),
            "key_file",
            "{}",
            path.display()
        );
    }
}

#[test]
fn no_message_shows_the_secret() {
    let shown = format!("{:?}", key());
    assert_eq!(shown, format!("SigningKey({:?})", key().verifying_key().key_id()));
}

proptest! {
    #[test]
    fn any_text_is_a_key_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (SigningKey::from_pem(&text), VerifyingKey::from_pem(&text));
        let block = pem::write(PRIVATE, &text);
        prop_assert_eq!(pem::read(PRIVATE, block.as_bytes()), Ok(text));
        let _ = SigningKey::from_pem(block.as_bytes());
    }
}

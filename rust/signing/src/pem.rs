//! One PEM block of one label: the textual form of keys (RFC 7468). Anything but that one block is refused, so that a
//! file never means two keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The width of the encoded lines, as RFC 7468 has it.
const WIDTH: usize = 64;

/// The bytes as one block with a newline at the end.
pub(crate) fn write(label: &str, bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(WIDTH));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

/// The bytes of the one block, or what is wrong.
pub(crate) fn read(label: &str, text: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
    let wanted = format!("it is not one PEM block `{label}`");
    let body = text
        .trim_ascii()
        .strip_prefix(&format!("-----BEGIN {label}-----"))
        .and_then(|rest| rest.strip_suffix(&format!("-----END {label}-----")))
        .ok_or_else(|| match text.contains("ENCRYPTED") {
            true => "it is encrypted, and no passphrase is asked for: decrypt it first".to_owned(),
            false => wanted.clone(),
        })?;
    let encoded: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(encoded).map_err(|_| wanted)
}

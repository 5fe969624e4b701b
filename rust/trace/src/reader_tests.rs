use super::*;
use crate::testing::{Log, log, rewrite, step};
use crate::{Chain, Fault, FaultKind};
use rstest::rstest;
use std::os::unix::fs::PermissionsExt as _;

fn written() -> (Log, Vec<Vec<u8>>) {
    let mut log = log();
    for message in ["one", "two", "three"] {
        log.writer.append(&step(message)).unwrap();
    }
    log.writer.seal().unwrap();
    let bytes = std::fs::read(&log.path).unwrap();
    let lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    (log, lines)
}

fn faults(lines: &[Vec<u8>]) -> Vec<(u64, &'static str)> {
    let (log, _) = written();
    rewrite(&log.path, &lines.concat());
    let reader = Reader::open(&log.path).unwrap();
    let list = reader.index().faults();
    assert_eq!(list.len() as u64, reader.index().fault_count());
    list.iter().map(|fault| (fault.line, fault.kind.word())).collect()
}

#[test]
fn a_sound_log_has_no_fault() {
    let (log, lines) = written();
    assert_eq!(faults(&lines), []);
    let reader = Reader::open(&log.path).unwrap();
    let index = reader.index();
    assert_eq!((index.lines(), index.steps(), index.chain()), (5, 3, Chain::Present));
    assert_eq!(index.opening().unwrap().session, crate::testing::session());
    assert_eq!(index.digest(), Digest::of(&lines.concat()));
}

fn with(place: usize, line: &[u8]) -> Vec<Vec<u8>> {
    let (_, mut lines) = written();
    lines[place] = line.to_vec();
    lines
}

// Report 21: a half line or a block of NUL bytes made a reader refuse the whole log or skip records in silence.
#[rstest]
#[case::nul_block_in_the_middle(with(2, &[vec![0; 4096], b"\n".to_vec()].concat()), &[(3, "not_json"), (4, "bad_chain")])]
#[case::nul_block_at_the_end([written().1, vec![vec![0; 4096]]].concat(), &[(6, "torn")])]
#[case::not_utf8(with(2, b"\"\xff\"\n"), &[(3, "not_utf8"), (4, "bad_chain")])]
#[case::empty_line(with(2, b"\n"), &[(3, "not_json"), (4, "bad_chain")])]
#[case::not_an_object(with(2, b"[1]\n"), &[(3, "unknown_record"), (4, "bad_chain")])]
#[case::unknown_record(with(2, b"{\"record\":\"note\"}\n"), &[(3, "unknown_record"), (4, "bad_chain")])]
#[case::key_twice(with(2, b"{\"record\":\"step\",\"record\":\"step\"}\n"), &[(3, "not_json"), (4, "bad_chain")])]
#[case::bad_step(with(2, b"{\"record\":\"step\",\"step\":{\"at\":1}}\n"), &[(3, "bad_step"), (4, "bad_chain")])]
#[case::bad_end(with(4, b"{\"record\":\"end\",\"at\":1,\"state\":\"paused\"}\n"), &[(5, "unknown_record")])]
#[case::bad_session(with(0, b"{\"record\":\"session\"}\n"), &[(1, "bad_session"), (2, "bad_chain")])]
#[case::other_version(
    with(0, b"{\"record\":\"session\",\"schema_version\":\"ATIF-v2.0\",\"at\":1,\"session\":{}}\n"),
    &[(1, "unsupported_version"), (2, "bad_chain")]
)]
fn every_bad_line_is_named(#[case] lines: Vec<Vec<u8>>, #[case] expected: &[(u64, &str)]) {
    assert_eq!(faults(&lines), expected);
}

#[rstest]
#[case::repeated_record(&[0, 1, 2, 2, 3, 4], &[(4, "bad_chain")])]
#[case::removed_record(&[0, 1, 3, 4], &[(3, "bad_chain")])]
#[case::swapped_records(&[0, 2, 1, 3, 4], &[(2, "bad_chain"), (3, "bad_chain"), (4, "bad_chain")])]
#[case::repeated_session(&[0, 0, 1], &[(2, "bad_chain"), (2, "repeated_session")])]
#[case::repeated_end(&[0, 1, 2, 3, 4, 4], &[(6, "bad_chain"), (6, "repeated_end")])]
#[case::after_end(&[0, 1, 2, 3, 4, 3], &[(6, "bad_chain"), (6, "after_end")])]
#[case::no_session(&[1, 2], &[(1, "bad_chain"), (1, "before_session"), (2, "before_session")])]
fn records_in_the_wrong_place_are_named(#[case] order: &[usize], #[case] expected: &[(u64, &str)]) {
    let (_, lines) = written();
    let placed: Vec<_> = order.iter().map(|place| lines[*place].clone()).collect();
    assert_eq!(faults(&placed), expected);
}

// Report 21, its own input: the log cut by seven bytes.
#[test]
fn a_torn_tail_leaves_everything_before_it_readable() {
    let (log, lines) = written();
    let bytes = lines.concat();
    rewrite(&log.path, &bytes[..bytes.len() - 7]);
    let reader = Reader::open(&log.path).unwrap();
    assert_eq!(
        reader.index().faults(),
        [Fault {
            line: 5,
            kind: FaultKind::Torn
        }]
    );
    assert_eq!(reader.page(1, PageSize::default()).unwrap().len(), 3);
    assert_eq!(reader.index().whole_bytes(), lines[..4].concat().len() as u64);
}

#[test]
fn a_log_from_before_the_chain_is_read() {
    let (log, lines) = written();
    let older: String = lines
        .iter()
        .map(|line| {
            let mut record: serde_json::Value = serde_json::from_slice(line).unwrap();
            record.as_object_mut().unwrap().remove("previous");
            format!("{record}\n").replace("ATIF-v1.8", "ATIF-v1.7")
        })
        .collect();
    rewrite(&log.path, older.as_bytes());
    let reader = Reader::open(&log.path).unwrap();
    assert_eq!(reader.index().faults(), []);
    assert_eq!((reader.index().chain(), reader.index().steps()), (Chain::Absent, 3));
}

#[test]
fn a_log_that_grows_is_followed() {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    let mut reader = Reader::open(&log.path).unwrap();
    let whole = std::fs::read(&log.path).unwrap();
    // A reader may come in the middle of a write.
    rewrite(&log.path, &[&whole[..], b"{\"record\":"].concat());
    reader.refresh().unwrap();
    assert_eq!(reader.index().fault_count(), 1);
    rewrite(&log.path, &whole);
    log.writer.append(&step("two")).unwrap();
    log.writer.seal().unwrap();
    reader.refresh().unwrap();
    let fresh = Reader::open(&log.path).unwrap();
    assert_eq!(format!("{:?}", reader.index()), format!("{:?}", fresh.index()));
    assert_eq!((reader.index().steps(), reader.index().faults()), (2, vec![]));
    let steps = reader.page(2, PageSize::default()).unwrap();
    assert_eq!(
        steps.iter().map(|recorded| &recorded.step.message).collect::<Vec<_>>(),
        ["two"]
    );
}

#[test]
fn a_log_that_changed_under_its_reader_is_told() {
    let (log, lines) = written();
    let mut reader = Reader::open(&log.path).unwrap();
    let edited = String::from_utf8(lines.concat()).unwrap().replace("two", "2wo");
    rewrite(&log.path, edited.as_bytes());
    assert_eq!(reader.page(1, PageSize::new(1).unwrap()).unwrap().len(), 1);
    match reader.page(1, PageSize::default()).unwrap_err() {
        Error::Changed { line, .. } => assert_eq!(line, 3),
        other => panic!("{other}"),
    }
    rewrite(&log.path, b"");
    assert_eq!(reader.refresh().unwrap_err().code(), "trace_changed");
    assert_eq!(reader.page(1, PageSize::default()).unwrap_err().code(), "trace_changed");
}

#[rstest]
#[case(1, 2, &["one", "two"])]
#[case(2, 200, &["two", "three"])]
#[case(3, 1, &["three"])]
#[case(4, 1, &[])]
#[case(0, 1, &["one"])]
#[case(u64::MAX, 200, &[])]
fn pages(#[case] first: u64, #[case] count: u64, #[case] expected: &[&str]) {
    let (log, _) = written();
    let reader = Reader::open(&log.path).unwrap();
    let page = reader.page(first, PageSize::new(count).unwrap()).unwrap();
    assert_eq!(
        page.iter()
            .map(|recorded| recorded.step.message.as_str())
            .collect::<Vec<_>>(),
        expected
    );
}

#[rstest]
#[case(0)]
#[case(201)]
fn page_sizes_outside_their_bounds_are_refused(#[case] count: u64) {
    assert_eq!(PageSize::new(count).unwrap_err().code(), "bad_page_size");
}

#[test]
fn what_is_no_private_plain_file_is_refused() {
    let (log, _) = written();
    let folder = log.folder.path();
    let hazard = |name: &str| match Reader::open(&folder.join(name)).unwrap_err() {
        Error::Unsafe { hazard, .. } => hazard,
        other => panic!("{other}"),
    };
    std::os::unix::fs::symlink(&log.path, folder.join("link")).unwrap();
    assert_eq!(hazard("link"), crate::Hazard::SymbolicLink);
    std::fs::create_dir(folder.join("folder")).unwrap();
    assert_eq!(hazard("folder"), crate::Hazard::NotRegular);
    let pipe = folder.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // Nobody writes to the pipe: the answer must not wait for someone to.
    assert_eq!(hazard("pipe"), crate::Hazard::NotRegular);
    std::fs::write(folder.join("open"), "").unwrap();
    std::fs::set_permissions(folder.join("open"), std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(hazard("open"), crate::Hazard::Accessible);
    std::fs::hard_link(&log.path, folder.join("second")).unwrap();
    assert_eq!(hazard("second"), crate::Hazard::HardLinked);
    assert_eq!(Reader::open(&folder.join("none")).unwrap_err().code(), "trace_missing");
}

#[test]
fn a_log_over_the_bound_is_not_read() {
    let (log, _) = written();
    let file = std::fs::OpenOptions::new().write(true).open(&log.path).unwrap();
    file.set_len(limits::FILE + 1).unwrap();
    assert_eq!(Reader::open(&log.path).unwrap_err().code(), "trace_oversized");
    // At the bound it is: one torn line of NUL bytes.
    file.set_len(limits::FILE).unwrap();
    assert_eq!(Reader::open(&log.path).unwrap().index().fault_count(), 1);
}

#[test]
fn faults_are_itemised_up_to_a_bound_and_counted_beyond() {
    let (log, _) = written();
    rewrite(&log.path, &vec![b'\n'; 100_000]);
    let reader = Reader::open(&log.path).unwrap();
    assert_eq!(reader.index().fault_count(), 100_000);
    assert_eq!(reader.index().faults().len(), limits::FAULTS);
}

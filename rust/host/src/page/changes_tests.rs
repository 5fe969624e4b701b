use super::*;

const PATCH: &str = "\
diff --git a/one b/one
index 1..2 100644
--- a/one
+++ b/one
@@ -1,3 +1,3 @@ fn main
 same
--- not a header
+++ nor this
 same
\\ No newline at end of file
diff --git a/old b/new name
similarity index 90%
rename from old
rename to new name
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
";

#[test]
fn a_patch_is_told_file_by_file() {
    let (files, missing) = files(PATCH.as_bytes());
    assert_eq!(missing, 0);
    let told: Vec<_> = files
        .iter()
        .map(|file| (file.name.as_str(), file.added, file.removed))
        .collect();
    assert_eq!(told, [("one", 1, 1), ("new name", 0, 0), ("gone", 0, 1)]);
    let kinds: Vec<Kind> = files[0].lines.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::About,
            Kind::About,
            Kind::About,
            Kind::About,
            Kind::Place,
            Kind::Same,
            Kind::Removed,
            Kind::Added,
            Kind::Same,
            Kind::About,
        ]
    );
}

#[test]
fn a_patch_of_any_bytes_is_told_without_a_panic() {
    for patch in [
        "",
        "@@",
        "+",
        "diff --git",
        "@@ -1,99999999999999999999 +x @@\n+a",
        "\u{0}\n@@ @@\n-",
    ] {
        files(patch.as_bytes());
    }
}

#[test]
fn what_is_too_much_is_counted() {
    let long = format!("diff --git a/x b/x\n@@ -0,0 +1,30000 @@\n{}", "+x\n".repeat(30_000));
    let (files, missing) = files(long.as_bytes());
    assert_eq!((files[0].lines.len(), missing), (LINES, 30_002 - LINES as u64));
}

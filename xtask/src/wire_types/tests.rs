//! What becomes of attributes and types, and that what is not understood is never passed over.

use super::*;

const FILE: &str = "view.rs";

fn declared(source: &str, root: &str) -> Result<String, String> {
    let shapes = Shapes::read(&Tree::from([(FILE, source)]), &[FILE])?;
    shapes.declared(&[root]).map(|declared| declared.join("\n"))
}

fn fields(fields: &str) -> Result<String, String> {
    let others = "#[derive(Serialize)] pub struct Mark { pub at: u64 }";
    let text =
        declared(&format!("#[derive(Serialize)] pub struct A {{ {fields} }} {others}"), "A")?;
    let (_, body) = text.split_once("A {\n").unwrap_or_default();
    let lines = body.lines().take_while(|line| *line != "}");
    Ok(lines.map(str::trim).collect::<Vec<_>>().join(" "))
}

#[test]
fn a_type_is_what_its_json_is() {
    for (rust, script) in [
        ("String", "string"),
        ("&'a str", "string"),
        ("u64", "number"),
        ("bool", "boolean"),
        ("Vec<String>", "string[]"),
        ("Vec<(u64, bool)>", "[number, boolean][]"),
        ("Vec<Option<u32>>", "(number | null)[]"),
        ("Option<Vec<Mark>>", "Mark[] | null"),
        ("Option<Box<crate::view::Mark>>", "Mark | null"),
        ("&'a [Mark]", "Mark[]"),
        ("BTreeMap<String, Vec<u32>>", "Record<string, number[]>"),
        ("serde_json::Value", "unknown"),
    ] {
        assert_eq!(fields(&format!("a: {rust}")), Ok(format!("a: {script};")), "of {rust}");
    }
}

#[test]
fn what_may_be_left_out_is_optional_and_an_option_that_is_written_may_be_null() {
    for (attribute, rust, script) in [
        ("", "Option<u32>", "a: number | null;"),
        ("#[serde(default)]", "Option<u32>", "a: number | null;"),
        ("#[serde(skip_serializing_if = \"Option::is_none\")]", "Option<u32>", "a?: number;"),
        ("#[serde(skip_serializing_if = \"is_dull\")]", "Option<u32>", "a?: number | null;"),
        ("#[serde(default, skip_serializing_if = \"Vec::is_empty\")]", "Vec<u32>", "a?: number[];"),
        ("#[serde(skip_serializing_if = \"std::ops::Not::not\")]", "bool", "a?: boolean;"),
        ("#[serde(rename = \"b\")]", "bool", "b: boolean;"),
        ("#[serde(skip)]", "Instant", ""),
    ] {
        let found = fields(&format!("{attribute} pub a: {rust}"));
        assert_eq!(found.as_deref(), Ok(script), "of {attribute} {rust}");
    }
}

#[test]
fn a_struct_that_is_flattened_is_extended_and_documentation_stays() {
    let source = "
/// One line.
#[derive(Serialize)]
#[serde(default)]
pub struct Row {
    /// Its number.
    pub id: u32,
}

/// Everything,
/// side by side.
#[derive(Serialize)]
#[serde(from = \"Flat\", rename_all = \"kebab-case\")]
pub struct View {
    #[serde(flatten)]
    pub row: Row,
    pub created_at: u64,
}
";
    let expected = "\
/** One line. */
export interface Row {
  /** Its number. */
  id: number;
}

/**
 * Everything,
 * side by side.
 */
export interface View extends Row {
  \"created-at\": number;
}
";
    assert_eq!(declared(source, "View").as_deref(), Ok(expected));
}

#[test]
fn a_closed_set_of_words_is_a_union() {
    let source = "
words! {
    Stage { Claimed = \"claimed\", Half = \"half_open\" }
    Status {
        Open = \"open\",
        /// For good.
        Over = \"over\",
    }
}
#[derive(Serialize)]
#[serde(rename_all = \"snake_case\")]
pub enum Mode { #[default] Normal, ReadOnly, #[serde(rename = \"x\")] Other }
";
    let stage = "export type Stage = \"claimed\" | \"half_open\";\n";
    assert_eq!(declared(source, "Stage").as_deref(), Ok(stage));
    let status = "export type Status =\n  | \"open\"\n  /** For good. */\n  | \"over\";\n";
    assert_eq!(declared(source, "Status").as_deref(), Ok(status));
    let mode = "export type Mode = \"normal\" | \"read_only\" | \"x\";\n";
    assert_eq!(declared(source, "Mode").as_deref(), Ok(mode));
}

#[test]
fn a_field_that_is_not_understood_is_named() {
    for (field, told) in [
        ("a: Instant", "A.a has the type Instant, of which Instant is not understood"),
        ("a: Vec<Id<u8>>", "A.a has the type Vec<Id<u8>>, of which Id is not understood"),
        ("a: Box<dyn Send>", "A.a has the type Box<dyn Send>, which is not understood"),
        (
            "a: BTreeMap<u32, u32>",
            "A.a has the type BTreeMap<u32,u32>, of which BTreeMap is not understood",
        ),
        (
            "#[serde(with = \"hex\")] a: u8",
            "A.a has the attribute serde(with = \"hex\"), which is not understood",
        ),
        ("#[serde(flatten)] a: Vec<Mark>", "A.a is flattened and no struct"),
        ("#[cfg(unix)] a: u8", "A.a is there only in some builds, which is not understood"),
    ] {
        assert_eq!(fields(field), Err(format!("{FILE}:1: {told}")), "of {field}");
    }
}

#[test]
fn a_type_that_is_not_understood_is_named() {
    for (source, told) in [
        (
            "#[derive(Debug)] struct A { a: u8 }",
            "A does not derive Serialize, so its JSON is not known",
        ),
        ("#[derive(Serialize)] struct A<T> { a: T }", "A has parameters, which is not understood"),
        ("#[derive(Serialize)] struct A(u8);", "A has no named fields, which is not understood"),
        (
            "#[derive(Serialize)] enum A { B, C { d: u8 } }",
            "A::C holds fields, which is not understood",
        ),
        (
            "#[derive(Serialize)] #[serde(rename_all = \"camelCase\")] struct A { a: u8 }",
            "A has the attribute serde(rename_all = \"camelCase\"), which is not understood",
        ),
        (
            "#[derive(Serialize)] #[serde(tag = \"kind\")] enum A { B }",
            "A has the attribute serde(tag = \"kind\"), which is not understood",
        ),
    ] {
        assert_eq!(declared(source, "A"), Err(format!("{FILE}:1: {told}")), "of {source}");
    }
    assert_eq!(declared("", "A"), Err("A is not understood; it is a root".to_owned()));
    let twice = "#[derive(Serialize)] struct A { a: u8 } struct A;";
    let told = "A is ambiguous: more than one type has this name; it is a root";
    assert_eq!(declared(twice, "A"), Err(told.to_owned()));
    let gone = Shapes::read(&Tree::from([]), &["view/"]).map(|_| ());
    assert_eq!(gone, Err("view/ is not there; name what holds its types now".to_owned()));
}

#[test]
fn a_name_means_the_type_of_its_own_crate_and_the_page_is_sent_one_of_a_name() {
    let end = |word: &str| format!("words! {{ End {{ One = {word:?} }} }}");
    let (near, far) = (end("near"), end("far"));
    let row = "#[derive(Serialize)] struct A { end: End }";
    let other = "#[derive(Serialize)] struct B { end: End }";
    let near = format!("{row} {near}");
    let far = format!("{other} {far}");
    let tree = Tree::from([("near/src/a.rs", near.as_str()), ("far/src/a.rs", far.as_str())]);
    let shapes = Shapes::read(&tree, &["far/", "near/"]).unwrap();
    assert_eq!(shapes.declared(&["A"]).unwrap()[1], "export type End = \"near\";\n");
    let both = shapes.declared(&["A", "B"]).unwrap_err();
    assert_eq!(both, "near/src/a.rs:1: the page is sent two types End");
}

#[test]
fn what_nothing_reaches_is_not_declared() {
    let source = "#[derive(Serialize)] struct A { a: u8 } struct B { b: Instant }";
    assert_eq!(declared(source, "A").as_deref(), Ok("export interface A {\n  a: number;\n}\n"));
}

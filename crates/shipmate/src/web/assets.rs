//! The page's own files, which the program carries in itself.
//!
//! They hold no data, so they are served to whoever asks for them at this host. A name is looked
//! up in the table exactly as it came: nothing is decoded and no path is put together from it, so
//! there is nothing to climb out of. A debug build reads the same names from the sources, so that
//! the page can be edited while it is looked at.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

type File = (&'static str, &'static [u8]);

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The file behind a path: `/` is the page itself, and `/page/…` is everything it loads.
pub(super) fn find(path: &str) -> Option<&'static File> {
    let name = match path {
        "/" => "index.html",
        path => path.strip_prefix("/page/")?,
    };
    FILES.iter().find(|(of, _)| *of == name)
}

pub(super) fn respond(file: &File, asked: &HeaderMap) -> Response {
    let bytes = contents(file);
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    let tag = format!("\"{:016x}\"", hash.finish());
    let known = asked.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(bytes.into_owned())),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(file.0)));
    // Asked for again each time and sent only when it differs: a new release is seen at once.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ETAG, HeaderValue::from_str(&tag).expect("a tag is hex digits"));
    response
}

fn contents(&(name, bytes): &File) -> Cow<'static, [u8]> {
    if cfg!(debug_assertions) {
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/web/page/");
        if let Ok(fresh) = std::fs::read(format!("{sources}{name}")) {
            return Cow::Owned(fresh);
        }
    }
    Cow::Borrowed(bytes)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_carried_in_the_program() {
        let (name, bytes) = find("/").unwrap();
        assert_eq!(*name, "index.html");
        assert!(bytes.starts_with(b"<!doctype html>"));
        assert_eq!(find("/page/app.js").unwrap().0, "app.js");
    }

    #[test]
    fn no_other_path_is_a_file() {
        for path in [
            "",
            "/page",
            "/page/",
            "//page/app.js",
            "/page//app.js",
            "/page/./app.js",
            "/page/../page/app.js",
            "/page/%2e%2e/page/app.js",
            "/page/app.js%00",
            "/page/app.js/",
            "/app.js",
            "/index.html/",
        ] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}

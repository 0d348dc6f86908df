//! A PROXY header: an address, none, or an error, and never a byte behind it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut rest = bytes;
    let read = runtime.block_on(cattlegrid_gate::read_proxy_header(&mut rest));
    if read.is_ok() {
        let used = bytes.len() - rest.len();
        assert!(used <= 552);
        assert!(bytes[..used].ends_with(b"\r\n") || bytes.starts_with(b"\r\n\r\n\0\r\nQUIT\n"));
    }
});

//! Tests the client over real connections, with a scripted model that answers well or badly.
#![forbid(unsafe_code)]

mod it {
    mod answers;
    mod carried;
    mod connections;
    mod encrypted;
    mod faults;
    mod probing;
    mod proxied;
    mod relay;
    mod rig;
    mod socks;
}

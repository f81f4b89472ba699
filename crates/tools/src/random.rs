//! Random numbers from the kernel, for names that must not be guessed or met twice.

/// Random bytes; zeros if the kernel has none to give, which does not happen after boot.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes
}

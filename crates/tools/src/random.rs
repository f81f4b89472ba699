//! Random numbers from the kernel, for names that must not be guessed or met twice.

/// Random bytes. Where the kernel has none to give, which it does not do after boot, zeros.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes
}

//! One WebSocket frame: reads and writes its header, and masks its payload. Does not join frames into messages.

/// The longest payload of a control frame.
pub(crate) const CONTROL_LIMIT: usize = 125;

/// The longest header: flags, length, mask.
const HEADER_LIMIT: usize = 14;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// Continues the message before.
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn read(bits: u8) -> Result<Self, Violation> {
        match bits {
            0 => Ok(Self::Continuation),
            1 => Ok(Self::Text),
            2 => Ok(Self::Binary),
            8 => Ok(Self::Close),
            9 => Ok(Self::Ping),
            10 => Ok(Self::Pong),
            unknown => Err(Violation::UnknownOpcode(unknown)),
        }
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    /// Whether it may stand between the frames of a message.
    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Whether it is the last frame of its message.
    pub(crate) last: bool,
    pub(crate) opcode: Opcode,
    pub(crate) mask: Option<[u8; 4]>,
    pub(crate) length: u64,
}

/// A violation of the protocol by the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("a frame has reserved bits, and no extension was agreed on")]
    ReservedBits,
    #[error("frames of type {0} have no meaning")]
    UnknownOpcode(u8),
    #[error("a control frame is longer than {CONTROL_LIMIT} bytes or in pieces")]
    LargeControl,
    #[error("the length of a frame is negative")]
    NegativeLength,
    #[error("a frame of a client is not masked")]
    NotMasked,
    #[error("a frame of a server is masked")]
    Masked,
    #[error("a frame continues a message that was never begun")]
    NothingToContinue,
    #[error("a message begins before the one before has ended")]
    NotContinued,
    #[error("a close frame has half a code")]
    HalfCode,
}

impl Header {
    /// Parses a header and returns its length; `None` while part of it is missing.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Violation> {
        let &[flags, sizes, ..] = bytes else { return Ok(None) };
        if flags & 0x70 != 0 {
            return Err(Violation::ReservedBits);
        }
        let (last, opcode) = (flags & 0x80 != 0, Opcode::read(flags & 0x0f)?);
        let short = sizes & 0x7f;
        if opcode.is_control() && (!last || usize::from(short) > CONTROL_LIMIT) {
            return Err(Violation::LargeControl);
        }
        let Some((length, at)) = read_length(short, &bytes[2..]) else { return Ok(None) };
        if length > i64::MAX as u64 {
            return Err(Violation::NegativeLength);
        }
        if sizes & 0x80 == 0 {
            return Ok(Some((Self { last, opcode, mask: None, length }, at)));
        }
        let mask = bytes[at..].first_chunk::<4>().copied();
        Ok(mask.map(|mask| (Self { last, opcode, mask: Some(mask), length }, at + 4)))
    }

    /// Serialises the header.
    pub(crate) fn write(&self) -> WrittenHeader {
        let mut written = WrittenHeader { bytes: [0; HEADER_LIMIT], length: 0 };
        written.put(&[self.opcode.bits() | if self.last { 0x80 } else { 0 }]);
        let masked = if self.mask.is_some() { 0x80 } else { 0 };
        match (u8::try_from(self.length), u16::try_from(self.length)) {
            (Ok(length @ 0..=125), _) => written.put(&[masked | length]),
            (_, Ok(length)) => {
                written.put(&[masked | 126]);
                written.put(&length.to_be_bytes());
            }
            _ => {
                written.put(&[masked | 127]);
                written.put(&self.length.to_be_bytes());
            }
        }
        written.put(self.mask.as_ref().map_or(&[][..], |mask| mask));
        written
    }
}

/// The payload's length, and the offset in the frame at which the header continues; `None` while part of it is missing.
fn read_length(short: u8, rest: &[u8]) -> Option<(u64, usize)> {
    match short {
        126 => rest.first_chunk().map(|bytes| (u64::from(u16::from_be_bytes(*bytes)), 4)),
        127 => rest.first_chunk().map(|bytes| (u64::from_be_bytes(*bytes), 10)),
        length => Some((u64::from(length), 2)),
    }
}

/// A serialised header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenHeader {
    bytes: [u8; HEADER_LIMIT],
    length: usize,
}

impl WrittenHeader {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Masks or unmasks a part of a payload that begins at this offset of it.
pub(crate) fn mask(bytes: &mut [u8], mask: [u8; 4], begins: u64) {
    let phase = usize::try_from(begins % 4).unwrap_or_default();
    let turned = [0, 1, 2, 3].map(|place| mask[(phase + place) % 4]);
    // Eight bytes at a time, which the compiler vectorises further.
    let wide = u64::from_ne_bytes([turned, turned].concat().try_into().unwrap_or_default());
    let mut steps = bytes.chunks_exact_mut(8);
    for step in &mut steps {
        let masked = step.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes) ^ wide).unwrap_or_default();
        step.copy_from_slice(&masked.to_ne_bytes());
    }
    for (place, byte) in steps.into_remainder().iter_mut().enumerate() {
        *byte ^= turned[place % 4];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_not_before_all_of_it_is_there() {
        for length in [0, 1, 125, 126, 127, 65535, 65536, 1 << 40] {
            for mask in [None, Some([1, 2, 3, 4])] {
                let header = Header { last: length % 2 == 0, opcode: Opcode::Text, mask, length };
                let written = header.write();
                let bytes = written.bytes();
                assert_eq!(Header::read(bytes), Ok(Some((header, bytes.len()))));
                for cut in 0..bytes.len() {
                    assert_eq!(Header::read(&bytes[..cut]), Ok(None), "{length} cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn what_the_protocol_does_not_allow_is_said() {
        for (bytes, expected) in [
            (&[0xc1, 0][..], Violation::ReservedBits),
            (&[0x83, 0], Violation::UnknownOpcode(3)),
            (&[0x09, 0], Violation::LargeControl),
            (&[0x89, 126], Violation::LargeControl),
            (&[0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Violation::NegativeLength),
        ] {
            assert_eq!(Header::read(bytes), Err(expected));
        }
    }

    proptest! {
        #[test]
        fn masking_in_pieces_is_masking_at_once(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            key in any::<[u8; 4]>(),
            cut in 0usize..100,
        ) {
            let plain: Vec<u8> = bytes.iter().enumerate().map(|(place, byte)| byte ^ key[place % 4]).collect();
            let cut = cut.min(bytes.len());
            let mut masked = bytes;
            mask(&mut masked[..cut], key, 0);
            mask(&mut masked[cut..], key, cut as u64);
            prop_assert_eq!(masked, plain);
        }

        #[test]
        fn any_bytes_can_be_a_header(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            if let Ok(Some((header, length))) = Header::read(&bytes) {
                prop_assert!(length <= bytes.len());
                // A sender may encode lengths longer than necessary; this code never does.
                prop_assert!(header.write().bytes().len() <= length);
            }
        }
    }
}

//! A channel between two of our processes on one machine: whole messages, in order, that may carry descriptors.

use crate::descriptor::above_stdio;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::mem::MaybeUninit;

/// The largest message.
pub const LARGEST: usize = 8 * 1024;
/// The most descriptors in one message.
pub const MOST_DESCRIPTORS: usize = 16;

/// Both ends of a new channel.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok((above_stdio(one)?, above_stdio(other)?))
}

/// Whether to block until the other side is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Blocks as long as it takes.
    Yes,
    /// Does not block: fails with `AGAIN` instead.
    No,
}

/// Sends one message.
pub fn send(
    end: impl AsFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>],
    waiting: Waiting,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::TOOBIG);
    }
    let flags = match waiting {
        Waiting::Yes => SendFlags::NOSIGNAL,
        Waiting::No => SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    };
    again_if_interrupted(|| sendmsg(&end, &[IoSlice::new(message)], &mut ancillary, flags)).map(drop)
}

/// A received message.
#[derive(Debug, Default)]
pub struct Message {
    /// The content of the message. Empty: the other side has closed the channel.
    pub bytes: Vec<u8>,
    /// The descriptors that the message carried.
    pub descriptors: Vec<OwnedFd>,
}

/// Receives the next message. A message larger than [`LARGEST`] is an error, not a part of it.
pub fn receive(end: impl AsFd, waiting: Waiting) -> Result<Message, Errno> {
    let mut bytes = vec![0; LARGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = match waiting {
        Waiting::Yes => RecvFlags::CMSG_CLOEXEC,
        Waiting::No => RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
    };
    let received =
        again_if_interrupted(|| recvmsg(&end, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags))?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            descriptors.extend(sent);
        }
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(Errno::MSGSIZE);
    }
    bytes.truncate(received.bytes);
    Ok(Message { bytes, descriptors })
}

fn again_if_interrupted<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_whole_and_bring_their_descriptors() {
        let (one, other) = pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        send(&one, b"first", &[], Waiting::Yes).unwrap();
        send(&one, b"second", &[write.as_fd()], Waiting::Yes).unwrap();
        drop(write);
        assert_eq!(receive(&other, Waiting::Yes).unwrap().bytes, b"first");
        let second = receive(&other, Waiting::Yes).unwrap();
        assert_eq!(second.bytes, b"second");
        rustix::io::write(&second.descriptors[0], b"!").unwrap();
        let mut byte = [0];
        assert_eq!(rustix::io::read(&read, &mut byte), Ok(1));
        assert_eq!(receive(&other, Waiting::No).unwrap_err(), Errno::AGAIN);
        drop(one);
        assert!(receive(&other, Waiting::Yes).unwrap().bytes.is_empty());
    }
}

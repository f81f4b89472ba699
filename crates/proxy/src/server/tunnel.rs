//! Carries bytes both ways between a client and the far side. Each direction has one buffer and reads no more until
//! that is written, so the slower side sets the pace; the end of one direction is passed on while the other goes on.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::account::{Direction, Traffic};
use crate::decision::HowEnded;

/// The bytes in flight in one direction of a connection.
pub(crate) const BUFFER: usize = 32 * 1024;

/// Carries until both sides have finished. `early` is what the client sent with its request.
pub(crate) async fn carry(
    (client, early): (&mut TcpStream, &[u8]),
    far: &mut TcpStream,
    traffic: &Traffic,
    idle: Duration,
) -> HowEnded {
    let (mut client_in, mut client_out) = client.split();
    let (mut far_in, mut far_out) = far.split();
    let there = async {
        write(&mut far_out, early, (traffic, Direction::Out)).await?;
        pump(&mut client_in, &mut far_out, (traffic, Direction::Out)).await
    };
    let back = pump(&mut far_in, &mut client_out, (traffic, Direction::In));
    tokio::select! {
        carried = async { tokio::try_join!(there, back) } => match carried {
            Ok(_) => HowEnded::Finished,
            Err(error) => HowEnded::Broken(error.to_string()),
        },
        () = traffic.ceased(idle) => HowEnded::Idle,
    }
}

/// Carries one direction to its end, and passes the end on.
pub(crate) async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    note: (&Traffic, Direction),
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer).await? {
            0 => {
                // The other side may have closed everything already, which is an end as well.
                let _ = to.shutdown().await;
                return Ok(());
            }
            read => write(to, &buffer[..read], note).await?,
        }
    }
}

/// Writes all, and takes note of each part, because a slow reader is not an idle one.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    (traffic, direction): (&Traffic, Direction),
) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = to.write(bytes).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        traffic.carried(direction, written);
        bytes = &bytes[written..];
    }
    Ok(())
}

//! The file with a server's token: read if it is there, made if it is not, and never changed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use windlass_server::gate::Token;

use crate::failure::Usage;

/// The longest file that is taken for a token.
const LONGEST: u64 = 4096;

/// The mode of a new file, and the bits of it that an existing one must not go beyond.
const OWNER_ONLY: u32 = 0o600;

/// The token in this file. A file that others can read, or could have written, protects nothing and is refused.
pub(crate) fn read_or_create(path: &Path) -> Result<Token> {
    // A pipe that nobody writes to must not hold us up: it is opened without waiting, and then refused.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => read(path, &File::from(file)),
        Err(Errno::NOENT) => create(path),
        Err(Errno::LOOP) => refused(path, "is a symbolic link; name the file it leads to"),
        Err(error) => Err(error).with_context(|| format!("cannot read the token in {}", path.display())),
    }
}

fn read(path: &Path, file: &File) -> Result<Token> {
    let cannot = || format!("cannot read the token in {}", path.display());
    let metadata = file.metadata().with_context(cannot)?;
    if !metadata.is_file() {
        return refused(path, "is not a regular file");
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return refused(path, "belongs to another user; name a file of your own");
    }
    let mode = metadata.mode() & 0o777;
    if mode & !0o700 != 0 {
        return refused(
            path,
            &format!(
                "can be read or changed by others (mode {mode:04o}); `chmod 600` it, with a new token in it"
            ),
        );
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).with_context(cannot)?;
    Token::chosen(&text).with_context(|| format!("{} holds no token", path.display()))
}

/// The file is made by this process or not at all: another one may have made it, or a link, in the meantime.
fn create(path: &Path) -> Result<Token> {
    let token = Token::random()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let written = rustix::fs::open(path, flags, Mode::from_raw_mode(OWNER_ONLY))
        .map_err(std::io::Error::from)
        .and_then(|file| writeln!(File::from(file), "{}", token.reveal()));
    written.with_context(|| format!("cannot write a token to {}", path.display()))?;
    Ok(token)
}

fn refused(path: &Path, why: &str) -> Result<Token> {
    Err(Usage(format!("the token file {} {why}", path.display())).into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use windlass_testkit::Scratch;

    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_token_file_that_is_not_there_is_made_for_its_owner_only_and_read_from_then_on() {
        let scratch = Scratch::new("token-file");
        let path = scratch.path().join("token");
        let made = read_or_create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, OWNER_ONLY);
        assert_eq!(read_or_create(&path).unwrap().reveal(), made.reveal());
        write(&path, "chosen elsewhere\n", 0o600);
        assert!(read_or_create(&path).is_err(), "a token has no space in it");
        write(&path, "chosen-elsewhere\n", 0o600);
        assert_eq!(read_or_create(&path).unwrap().reveal(), "chosen-elsewhere");
        assert_eq!(fs::read_to_string(&path).unwrap(), "chosen-elsewhere\n", "it is not changed");
    }

    #[test]
    fn a_token_file_that_protects_nothing_is_refused_and_left_as_it_is() {
        let scratch = Scratch::new("token-refused");
        let path = scratch.path().join("token");
        let check = |said: &str| {
            let error = format!("{:#}", read_or_create(&path).unwrap_err());
            assert!(error.contains(said), "{error}");
        };
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602] {
            write(&path, "open-sesame\n", mode);
            check("by others");
            assert_eq!(fs::read_to_string(&path).unwrap(), "open-sesame\n");
        }
        write(&path, "", 0o600);
        check("holds no token");
        fs::rename(&path, scratch.path().join("elsewhere")).unwrap();
        symlink(scratch.path().join("elsewhere"), &path).unwrap();
        check("symbolic link");
        fs::remove_file(&path).unwrap();
        symlink(scratch.path().join("nowhere"), &path).unwrap();
        check("symbolic link");
        assert!(!scratch.path().join("nowhere").exists());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        check("not a regular file");
    }

    #[test]
    fn a_token_file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let scratch = Scratch::new("token-other");
        let path = scratch.path().join("token");
        write(&path, "open-sesame\n", 0o600);
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        let error = read_or_create(&path).unwrap_err().to_string();
        assert!(error.contains("belongs to another user"), "{error}");
    }
}

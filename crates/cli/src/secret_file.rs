//! Secrets in files: tokens, private keys, passphrases. One rule applies to all of them: a file that others can read or
//! could have written protects nothing, and is rejected. A token file can also be created; no file is ever changed.

use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use windlass_server::gate::Token;
use zeroize::Zeroizing;

use crate::config::Config;
use crate::failure::Usage;

/// The longest file that is taken for a secret: a private key in PEM is a few thousand bytes.
const LONGEST: usize = 64 << 10;

/// The mode of a new file.
const OWNER_ONLY: u32 = 0o600;

/// The secrets that are read from files; they differ only in the wording of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    Token,
    /// The secret that signs tokens.
    SigningKey,
    PrivateKey,
    Passphrase,
}

impl Secret {
    fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::SigningKey => "secret",
            Self::PrivateKey => "private key",
            Self::Passphrase => "passphrase",
        }
    }
}

/// Reads a file with a secret. A link is followed, as in `live/` of certbot or in `<(pass show x)`: the checks apply to
/// the file that was opened.
pub(crate) fn read(path: &Path, secret: Secret) -> Result<Zeroizing<Vec<u8>>> {
    let opened = rustix::fs::open(path, READ, Mode::empty()).with_context(|| cannot_read(path, secret))?;
    contents(path, &File::from(opened), secret)
}

/// The token in this file.
pub(crate) fn token(path: &Path) -> Result<Token> {
    as_token(path, &read(path, Secret::Token)?)
}

/// The token in this file, which is created if it does not exist. A link is rejected: its target may not exist either,
/// and the file would then be created at a path that the creator of the link chose.
pub(crate) fn read_or_create_token(path: &Path) -> Result<Token> {
    match rustix::fs::open(path, READ | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => as_token(path, &contents(path, &File::from(file), Secret::Token)?),
        Err(Errno::NOENT) => create(path),
        Err(Errno::LOOP) => {
            Err(refused(path, Secret::Token, "is a symbolic link; name the file it leads to"))
        }
        Err(error) => Err(error).with_context(|| cannot_read(path, Secret::Token)),
    }
}

/// The paths at which secrets in these files are found, so that commands can be denied them: each path as it was given,
/// whatever it leads to later, and the file that it leads to now, whose secret this process goes on using. A pipe of a
/// shell (`<(pass show x)`) has no such path: its name refers to a descriptor of this process, which may be another
/// file by the time a command starts.
pub(crate) fn places<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<PathBuf>> {
    let here = Config::working_directory()?;
    let mut places = Vec::new();
    for path in paths.into_iter().map(|path| here.join(path)) {
        let Ok(real) = path.canonicalize() else { continue };
        if !real.starts_with("/proc") {
            places.extend([path, real]);
        }
    }
    places.dedup();
    Ok(places)
}

/// Opening a named pipe without a writer must not block: with these flags, the pipe reads as empty.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn contents(path: &Path, file: &File, secret: Secret) -> Result<Zeroizing<Vec<u8>>> {
    let metadata = file.metadata().with_context(|| cannot_read(path, secret))?;
    if let Some(why) = exposed(&metadata) {
        return Err(refused(path, secret, &why));
    }
    if metadata.file_type().is_fifo() {
        rustix::fs::fcntl_setfl(file, OFlags::empty()).with_context(|| cannot_read(path, secret))?;
    }
    // The buffer has its full capacity from the start: a reallocation would leave a copy of the secret behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    let most = LONGEST as u64 + 1;
    file.take(most).read_to_end(&mut bytes).with_context(|| cannot_read(path, secret))?;
    if bytes.len() > LONGEST {
        return Err(refused(path, secret, "is longer than 64 KiB"));
    }
    Ok(bytes)
}

/// The reason why a secret in such a file is not protected. A file of root that its group can read is how distributions
/// hand private keys to services (`root:ssl-cert`, mode 0640).
fn exposed(metadata: &Metadata) -> Option<String> {
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let mode = metadata.mode() & 0o777;
    if !metadata.is_file() && !metadata.file_type().is_fifo() {
        return Some("is neither a regular file nor a pipe".to_owned());
    }
    if owner != user && owner != 0 {
        return Some("belongs to another user; name a file of your own".to_owned());
    }
    let allowed = if owner == user { 0o700 } else { 0o740 };
    (mode & !allowed != 0).then(|| {
        format!("can be read or changed by others (mode {mode:04o}); `chmod 600` it, with a new secret in it")
    })
}

fn as_token(path: &Path, bytes: &[u8]) -> Result<Token> {
    let text = std::str::from_utf8(bytes).ok();
    let token = Token::chosen(text.unwrap_or_default());
    token.with_context(|| format!("{} holds no token", path.display()))
}

/// The file is created by this process or not at all: another one may have created it, or a link, in the meantime.
fn create(path: &Path) -> Result<Token> {
    let token = Token::random()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let written = rustix::fs::open(path, flags, Mode::from_raw_mode(OWNER_ONLY))
        .map_err(std::io::Error::from)
        .and_then(|file| writeln!(File::from(file), "{}", token.reveal()));
    written.with_context(|| format!("cannot write a token to {}", path.display()))?;
    Ok(token)
}

fn cannot_read(path: &Path, secret: Secret) -> String {
    format!("cannot read the {} in {}", secret.name(), path.display())
}

fn refused(path: &Path, secret: Secret, why: &str) -> anyhow::Error {
    Usage(format!("the {} file {} {why}", secret.name(), path.display())).into()
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
        let made = read_or_create_token(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, OWNER_ONLY);
        assert_eq!(read_or_create_token(&path).unwrap().reveal(), made.reveal());
        write(&path, "chosen elsewhere\n", 0o600);
        assert!(read_or_create_token(&path).is_err(), "a token has no space in it");
        write(&path, "chosen-elsewhere\n", 0o600);
        assert_eq!(read_or_create_token(&path).unwrap().reveal(), "chosen-elsewhere");
        assert_eq!(fs::read_to_string(&path).unwrap(), "chosen-elsewhere\n", "it is not changed");
    }

    #[test]
    fn a_token_file_that_protects_nothing_is_refused_and_left_as_it_is() {
        let scratch = Scratch::new("token-refused");
        let path = scratch.path().join("token");
        let check = |said: &str| {
            let error = format!("{:#}", read_or_create_token(&path).unwrap_err());
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
        check("neither a regular file");
    }

    #[test]
    fn every_kind_of_secret_is_judged_alike_and_links_to_it_are_followed() {
        let scratch = Scratch::new("secret-kinds");
        let (path, link) = (scratch.path().join("secret"), scratch.path().join("link"));
        symlink(&path, &link).unwrap();
        for secret in [Secret::Token, Secret::SigningKey, Secret::PrivateKey, Secret::Passphrase] {
            write(&path, "open-sesame", 0o600);
            assert_eq!(&read(&link, secret).unwrap()[..], b"open-sesame");
            write(&path, "open-sesame", 0o644);
            let error = read(&link, secret).unwrap_err().to_string();
            assert!(error.contains(secret.name()) && error.contains("by others (mode 0644)"), "{error}");
            fs::remove_file(&path).unwrap();
            let error = format!("{:#}", read(&path, secret).unwrap_err());
            assert!(error.contains("cannot read the") && error.contains("No such file"), "{error}");
        }
        write(&path, &"x".repeat(LONGEST + 1), 0o600);
        assert!(read(&path, Secret::Token).unwrap_err().to_string().contains("64 KiB"));
    }

    #[test]
    fn a_pipe_of_the_shells_is_read_to_its_end() {
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let writing = std::thread::spawn(move || writer.write_all(b"open-sesame\n").unwrap());
        assert_eq!(token(Path::new(&path)).unwrap().reveal(), "open-sesame");
        writing.join().unwrap();
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
        let error = read_or_create_token(&path).unwrap_err().to_string();
        assert!(error.contains("belongs to another user"), "{error}");
    }
}

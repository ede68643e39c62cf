use proptest::prelude::*;

use super::*;

const S: &str = "Zq7xWm2Lk9Tr4Vb8Nc3D";

/// Commands, one per row, words separated by `|`; `@` stands for the secret.
const SECRET: &[&str] = &[
    "--api-key|@",
    "--token=@",
    "GITHUB_TOKEN=@",
    "Authorization: Bearer @",
    "-e|TOKEN=@",
    "--env|API_KEY=@",
    "--env=API_KEY=@",
    "-eTOKEN=@",
    "--header|X-Api-Key: @",
    "-H|Authorization: @",
    "--header=Authorization:@",
    "--header=Authorization: Bearer @",
    "-HAuthorization: Bearer @",
    "--header|X-Api-Key|@",
    "--header|X-Api-Key:@",
    "Authorization:|Bearer|@",
    "--token|Bearer|@",
    "--password|@",
    "--auth|me:@",
    "-u|me:@",
    "-ume:@",
    "--user|me:@",
    "https://me:@@example.com/x",
    "https://@@github.com/a/b",
    "https://h/p?token=@",
    "https://h/p?a=1&api_key=@&b=2",
    "https://h/p?access_token=@#x",
    "https://h/#access_token=@",
    "https://h/?sig=@",
    "https://h/cb?code=@",
    "--url=https://h/p?key=@",
    "https://h/?api%5Fkey=@",
    "postgres://user:@@host/db",
    "postgres://user:@/x@@host/db",
    "mongodb+srv://u:@@c.mongodb.net/d?w=majority",
    "DATABASE_URL=postgres://u:@@h/d",
    "Server=tcp:h,1433;User=u;Password=@;Encrypt=True",
    "AccountName=a;AccountKey=@;x=y",
    "h:6380,password=@,ssl=True",
    "host=h password=@ user=u",
    r#"{"apiKey":"@"}"#,
    r#"{"a":{"b":[{"client_secret":"@"}]}}"#,
    r#"--config={"auth":{"user":"u","pw":"@"}}"#,
    r#"{"args":["--token","@"]}"#,
    r#"{"env":{"GITHUB_TOKEN":"@"}}"#,
    r#"[{"name":"GITHUB_TOKEN","value":"@"}]"#,
    r#"{"headers":["Authorization: Bearer @"]}"#,
    r#"{apiKey:"@"}"#,
    "{'a':1,'apiKey':'@'}",
    "sk-@",
    "sk-ant-api03-@",
    "ghp_@",
    "github_pat_@",
    "glpat-@",
    "xoxb-@",
    "AKIA@",
    "AIza@",
    "eyJ@.eyJ@.@",
    "hf_@",
    "npm_@",
    "pypi-@",
    "--arg|sk-@",
    "--foo=ghp_@",
    "x,hf_@;y",
    "sh|-c|GITHUB_TOKEN=@ npx server",
    "sh|-c|exec npx server --api-key @ --port 1",
    "bash|-lc|export A=1; API_KEY='@' npx x",
    "sh|-c|curl -H \"Authorization: Bearer @\" https://h",
    "sh|-c|curl -H 'X-Api-Key: @'",
    "sh|-c|A=1;TOKEN=@;npx x",
    "sh|-c|npx x --token=\"@\"",
    "sh|-c|bash -c \"TOKEN=@ npx x\"",
    "sh|-c|mysql --password @",
    "--apiKey|@",
    "--client_secret|@",
    "-token|@",
    "--openai.api-key=@",
    "--token|-@",
    "--token|--@",
    "--use-x|--token|--api-key|@",
    "//registry.example.com/:_authToken=@",
    "PGPASSWORD=@",
    "--password=my @",
    "-e|TOKEN=a @ b",
    "--cookie|session=@",
    "Cookie: a=@",
    "--key|@",
    "--set|a=b,token=@",
    "--token:@",
    "--pat|@",
    "-Token|@",
    "Bearer @",
    "--secret|id=@,src=x",
    "Password=a;@",
    "x=1;Password=a;@",
    "--mongo|mongodb://a:@@h1,mongodb://b:@@h2",
    "{'apiKey':'@'}",
    r#"{\"apiKey\":\"@\"}"#,
    r#""{\"apiKey\":\"@\"}""#,
    r#"--config|"{\"a\":{\"apiKey\":\"@\"}}""#,
    "--oauth2Bearer|@",
    "root:@@tcp(h:3306)/db",
    "--dsn=me:@@h:5432/db",
    "--redis|redis://:@@h:6379",
    "AWS_SECRET_ACCESS_KEY=@",
    "--header|Authorization:Bearer @",
    "cmd|/c|set TOKEN=@&& npx x",
    "env|A=b|API_TOKEN=@|npx|x",
    "ssh|h|API_KEY=@ npx x",
    "--access-token|sbp_@|--project-ref=x",
    "--api-keys=@,@",
    "--headers|{\"Authorization\":\"Bearer @\"}",
];

/// Commands that hold nothing secret and stay as they are.
const PLAIN: &[&str] = &[
    "npx|-y|@scope/server@1.2.3",
    "--key-file|/etc/key",
    "--tokenizer|gpt2",
    "--max-tokens|100",
    "--max-tokens=100",
    "--keyboard|us",
    "--no-auth|x",
    "--monkey|X",
    "--port|8080",
    "-p|8080:80",
    "docker|run|-i|--rm|-v|/a:/b:ro|image:latest",
    "-u|1000:1000",
    "--user|node",
    "--token-file|/run/token",
    "TOKEN_FILE=/run/token",
    "--author|Ann",
    "https://example.com:8080/mcp?page=2#top",
    "C:\\Program Files\\x",
    "--password-stdin|x",
    "--auth|none",
    "--private-key|./id.pem",
    "GOOGLE_APPLICATION_CREDENTIALS=./creds.json",
    r#"{"a": 1.0,"maxTokens":5}"#,
    "sh|-c|cd /app && npx server --port 1 'a b'",
    "python|-c|print(1)",
    "file:///tmp/a.db",
    "redis://localhost:6379/0",
    "user@example.com",
    "-e|GITHUB_TOKEN",
    "--env|NODE_ENV=production",
    "npm_config_registry=https://registry.example.com",
    "sk-learn-contrib-package-name",
    "image:tag@sha256:0123456789abcdef",
    "npm:foo@1.2.3",
    "git@github.com:org/repo.git",
    "https://github.com/o/r/issues?state=open",
    "python|-u|server.py",
    "uvx|mcp-server-postgres|postgresql://localhost:5432/mydb",
    "--config|\"plain\"",
    "--log-level=debug,hyper=info",
    "--time|12:30:45",
    "mcp-remote|https://mcp.example.com/sse|--transport|http-only",
    "--public-key|abc",
    "--token",
    "--auth-type|basic",
    "the token of the day",
    "",
    "--",
    "--sort-key=name",
    "--require-auth=true",
    "a,b;c",
    "--mount|type=bind,source=/a,target=/b",
    "--allowed-hosts=a.example,b.example",
    "--header|Accept: application/json, text/plain",
];

fn redacted(row: &str, secret: &str) -> Vec<String> {
    let words: Vec<String> = row.split('|').map(|word| with_secret(word, secret)).collect();
    redact_command(words)
}

/// Every `@` is the secret, but `@@` is the secret and the sign.
fn with_secret(word: &str, secret: &str) -> String {
    word.replace("@@", "\u{1}").replace('@', secret).replace('\u{1}', &format!("{secret}@"))
}

#[test]
fn credentials_are_taken_out() {
    let mut failed = Vec::new();
    for row in SECRET {
        let text = redacted(row, S).join("|");
        if text.contains(S) || !text.contains(REDACTED) {
            failed.push(format!("{row}  ->  {text}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn everything_else_stays() {
    let mut failed = Vec::new();
    for row in PLAIN {
        let words: Vec<&str> = row.split('|').collect();
        let text = redact_command(&words).join("|");
        if text != *row {
            failed.push(format!("{row}  ->  {text}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn what_is_around_a_credential_stays() {
    for (row, expected) in [
        ("-e|TOKEN=@|image", "-e|TOKEN=<redacted>|image"),
        ("--header|Authorization: Bearer @", "--header|Authorization: <redacted>"),
        ("sh|-c|TOKEN=@ npx s --port 1", "sh|-c|TOKEN=<redacted> npx s --port 1"),
        ("sh|-c|curl -H \"X-Api-Key: @\" h", "sh|-c|curl -H \"X-Api-Key: <redacted>\" h"),
        ("postgres://u:@@h:5432/db?x=1", "postgres://<redacted>@h:5432/db?x=1"),
        ("Server=h;Password=@;Encrypt=True", "Server=h;Password=<redacted>;Encrypt=True"),
        (r#"{"apiKey":"@","port":1}"#, r#"{"apiKey":"<redacted>","port":1}"#),
        ("--token|@|--port|1", "--token|<redacted>|--port|1"),
        ("--token|-aPWDa|--port|1", "--token|<redacted>|<redacted>|1"),
        ("root:aPw@@tcp(h:3306)/db", "root:<redacted>@tcp(h:3306)/db"),
        ("--token|--api-key|@", "--token|<redacted>|<redacted>"),
        ("-u|me:@", "-u|me:<redacted>"),
        ("--url=https://h/p?key=@&n=1", "--url=https://h/p?key=<redacted>&n=1"),
    ] {
        assert_eq!(redacted(row, S).join("|"), expected);
    }
}

#[test]
fn urls_lose_user_password_and_credentials() {
    for (url, expected) in [
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://u:p@example.com/mcp", "https://example.com/mcp"),
        ("https://u@example.com:8443/mcp", "https://example.com:8443/mcp"),
        ("https://u:p@w@example.com/", "https://example.com/"),
        (
            "https://h/?Token=a&q=b&X-Amz-Signature=c&api%2Dkey=d",
            "https://h/?Token=<redacted>&q=b&X-Amz-Signature=<redacted>&api%2Dkey=<redacted>",
        ),
        ("https://h/a?next=https://v:w@k/", "https://h/a?next=https://k/"),
        ("http://[::1]:80/x?a=@", "http://[::1]:80/x?a=@"),
        ("not a url", "not a url"),
        ("https://", "https://"),
    ] {
        assert_eq!(redact_url(url), expected, "{url}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_not_utf8_is_made_so() {
    use std::os::unix::ffi::OsStrExt;
    assert_eq!(redact_command([OsStr::from_bytes(b"a\xffb")]), ["a\u{fffd}b"]);
}

proptest! {
    #[test]
    fn a_random_secret_in_any_form_is_gone(at in 0..SECRET.len(), secret in "[A-Za-z0-9]{8}[A-Z][0-9][A-Za-z0-9]{10}") {
        let text = redacted(SECRET[at], &secret).join("|");
        prop_assert!(!text.contains(&secret), "{} -> {}", SECRET[at], text);
    }

    #[test]
    fn any_command_is_taken(words in prop::collection::vec("\\PC{0,24}|[-=:@/?&;,'\"{}\\[\\] a-zT]{0,24}", 0..4)) {
        prop_assert_eq!(redact_command(&words).len(), words.len());
    }
}

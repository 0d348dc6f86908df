//! Where the gate listens, and where sites are.

use super::Address;
use super::Errors;
use super::Listen;
use super::Options;
use super::Role;
use super::Site;
use cattlegrid_http1::host;

pub(super) fn listeners(options: &Options, start: usize, errors: &mut Errors<'_>) -> Vec<Listen> {
    let mut listeners = Vec::new();
    for given in &options.listen {
        let at = given.span().start;
        let given = given.get_ref();
        let address = match address(given.address.get_ref()) {
            Some(Address::Name(name)) => {
                errors.at(
                    given.address.span().start,
                    format!("'{name}' is a name: a listener needs an address, like 127.0.0.1:8080, [::]:443 or unix:/run/cattlegrid.sock"),
                );
                continue;
            }
            Some(address) => address,
            None => {
                errors.at(
                    given.address.span().start,
                    format!(
                        "'{}' is not ADDRESS:PORT or unix:/PATH",
                        given.address.get_ref()
                    ),
                );
                continue;
            }
        };
        let tls = match (&given.certificate, &given.key) {
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (None, None) => None,
            _ => {
                errors.at(at, "[[gate.listen]]: certificate and key belong together");
                None
            }
        };
        listeners.push(Listen {
            line: errors.line(at),
            address,
            tls,
            proxy_protocol: given.proxy_protocol,
            role: given.role,
        });
    }
    if options.listen.is_empty() {
        errors.at(
            start,
            "[gate] has no listener: add [[gate.listen]] with address = \"0.0.0.0:8080\"",
        );
    }
    for (at, listener) in listeners.iter().enumerate() {
        if listeners[..at]
            .iter()
            .any(|other| other.address == listener.address)
        {
            let span = options.listen[at].span().start;
            errors.at(span, format!("{} is listened on twice", listener.address));
        }
    }
    listeners
}

pub(super) fn sites(
    options: &Options,
    listen: &[Listen],
    start: usize,
    errors: &mut Errors<'_>,
) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    let forwards = listen.iter().any(|listen| listen.role == Role::Proxy);
    for given in &options.site {
        let at = given.span().start;
        let given = given.get_ref();
        let mut hosts = Vec::new();
        for name in given.hosts.get_ref() {
            match name.as_str() {
                "*" => hosts.push("*".to_owned()),
                name => match host::canonical(name.as_bytes()) {
                    Some(host) => hosts.push(host.into_owned()),
                    None => errors.at(
                        given.hosts.span().start,
                        format!("'{name}' is no host name"),
                    ),
                },
            }
        }
        let taken = |host: &String| sites.iter().any(|site| site.hosts.contains(host));
        if let Some(host) = hosts.iter().find(|host| taken(host)) {
            errors.at(
                given.hosts.span().start,
                format!("'{host}' belongs to two sites"),
            );
        }
        if hosts.is_empty() {
            errors.at(at, "[[gate.site]] needs hosts, or hosts = [\"*\"] for all");
        }
        let upstream = match &given.upstream {
            None if forwards => {
                errors.at(at, "[[gate.site]] needs upstream = \"http://127.0.0.1:8081\" or \"unix:/run/site.sock\": where the site is");
                None
            }
            None => None,
            Some(text) => {
                let found = upstream(text.get_ref());
                if let Err(error) = &found {
                    errors.at(text.span().start, error);
                }
                found.ok()
            }
        };
        sites.push(Site { hosts, upstream });
    }
    if sites.is_empty() {
        if forwards {
            errors.at(
                start,
                "[gate] has no site: add [[gate.site]] with hosts and upstream",
            );
        }
        sites.push(Site {
            hosts: vec!["*".to_owned()],
            upstream: None,
        });
    }
    sites
}

fn upstream(text: &str) -> Result<Address, String> {
    if text.starts_with("https://") {
        return Err(format!(
            "{text}: the site must be reached by plain HTTP on this machine or a private network; TLS to sites is not supported"
        ));
    }
    let bare = text.strip_prefix("http://").unwrap_or(text);
    let bare = bare.strip_suffix('/').unwrap_or(bare);
    if bare.contains('/') && !bare.starts_with("unix:") {
        return Err(format!(
            "{text}: a site is reached as http://ADDRESS:PORT, without a path"
        ));
    }
    let with_port = match bare.starts_with("unix:")
        || bare.rsplit(']').next().is_some_and(|end| end.contains(':'))
    {
        true => bare.to_owned(),
        false => format!("{bare}:80"),
    };
    address(&with_port).ok_or_else(|| format!("{text} is no http://ADDRESS:PORT or unix:/PATH"))
}

fn address(text: &str) -> Option<Address> {
    if let Some(path) = text.strip_prefix("unix:") {
        return path.starts_with('/').then(|| Address::Unix(path.into()));
    }
    if let Ok(address) = text.parse() {
        return Some(Address::Tcp(address));
    }
    let (name, port) = text.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let name = host::canonical(name.as_bytes())?;
    Some(Address::Name(format!("{name}:{port}")))
}

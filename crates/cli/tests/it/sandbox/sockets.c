// Talking to anybody outside: over the network, over sockets at paths and with abstract names, in rare families. The
// listeners of the stage send back what they get.
#include "attacks.h"
#include <arpa/inet.h>
#include <linux/if_alg.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stddef.h>
#include <sys/un.h>

#define WORD "echo-me"

static struct sockaddr_in host(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(given(port)))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}
static struct sockaddr_in6 mapped_host(const char *port) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(given(port)))};
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
    return address;
}
static void if_echoed(int connection) {
    char answer[64] = {0};
    struct pollfd wait = {connection, POLLIN, 0};
    if (poll(&wait, 1, 1500) <= 0) { errno = ETIMEDOUT; blocked(); }
    must(recv(connection, answer, sizeof answer - 1, 0));
    if (!strncmp(answer, WORD, strlen(WORD))) escaped("the outside answered");
}
static void asked(int connection) {
    must(send(connection, WORD, strlen(WORD), MSG_NOSIGNAL));
    if_echoed(connection);
}
static void connected(int family, int type, int protocol, const void *address, socklen_t length) {
    int connection = must(socket(family, type, protocol));
    must(connect(connection, address, length));
    asked(connection);
}

// ---- TCP ----

ATTEMPT(tcp_connected, "tcp", NETWORK_NOT_ON, ANYONE) { struct sockaddr_in to = host("TCP_PORT"); connected(AF_INET, SOCK_STREAM, 0, &to, sizeof to); }
ATTEMPT(tcp_connected_over_mapped_address, "tcp", NETWORK_NOT_ON, ANYONE) { struct sockaddr_in6 to = mapped_host("TCP_PORT"); connected(AF_INET6, SOCK_STREAM, 0, &to, sizeof to); }
ATTEMPT(tcp_connected_to_any_address, "tcp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    to.sin_addr.s_addr = INADDR_ANY;
    connected(AF_INET, SOCK_STREAM, 0, &to, sizeof to);
}
ATTEMPT(tcp_multipath, "tcp", NETWORK_NOT_ON, ANYONE) { struct sockaddr_in to = host("TCP_PORT"); connected(AF_INET, SOCK_STREAM, 262, &to, sizeof to); }
ATTEMPT(tcp_connected_without_waiting, "tcp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    int connection = must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    if (connect(connection, (void *)&to, sizeof to) < 0 && errno != EINPROGRESS) blocked();
    struct pollfd wait = {connection, POLLOUT, 0};
    poll(&wait, 1, 1500);
    asked(connection);
}
ATTEMPT(tcp_connected_by_sendto, "tcp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    int connection = must(socket(AF_INET, SOCK_STREAM, 0));
    must(sendto(connection, WORD, strlen(WORD), MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&to, sizeof to));
    if_echoed(connection);
}
ATTEMPT(tcp_connected_by_sendmsg, "tcp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    struct iovec part = {WORD, strlen(WORD)};
    struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
    int connection = must(socket(AF_INET, SOCK_STREAM, 0));
    must(sendmsg(connection, &message, MSG_FASTOPEN | MSG_NOSIGNAL));
    if_echoed(connection);
}
ATTEMPT(tcp_connected_by_sendmmsg, "tcp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    struct iovec part = {WORD, strlen(WORD)};
    struct mmsghdr message = {.msg_hdr = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1}};
    int connection = must(socket(AF_INET, SOCK_STREAM, 0));
    must(sendmmsg(connection, &message, 1, MSG_FASTOPEN | MSG_NOSIGNAL));
    if_echoed(connection);
}
ATTEMPT(tcp_connected_on_first_write, "tcp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    int connection = must(socket(AF_INET, SOCK_STREAM, 0)), on = 1;
    must(setsockopt(connection, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on));
    must(connect(connection, (void *)&to, sizeof to));
    must(write(connection, WORD, strlen(WORD)));
    if_echoed(connection);
}
ATTEMPT(tcp_connected_by_bash, "tcp", NETWORK_NOT_ON, ANYONE) {
    char *script = text("exec 7<>/dev/tcp/127.0.0.1/%s && printf echo-me >&7 && head -c 7 <&7", given("TCP_PORT"));
    if (strstr(output_of("bash", "-c", script, NULL), WORD)) escaped("the outside answered");
    errno = ECONNREFUSED;
    blocked();
}
static struct sockaddr_in flipping_address;
static void flip_port(void) {
    static int turn;
    flipping_address.sin_port = htons(turn++ % 2 ? atoi(getenv("TCP_PORT")) : 1);
}
static int connect_memory(void) {
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    int won = connection >= 0 && connect(connection, (void *)&flipping_address, sizeof flipping_address) == 0;
    if (connection >= 0) close(connection);
    return won;
}
ATTEMPT(tcp_race_of_address_in_memory, "race", NETWORK_NOT_ON, ANYONE) {
    flipping_address = host("TCP_PORT");
    race(flip_port, connect_memory);
}

// ---- UDP, names ----

ATTEMPT(udp_sent, "udp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("UDP_PORT");
    int one = must(socket(AF_INET, SOCK_DGRAM, 0));
    must(sendto(one, WORD, strlen(WORD), 0, (void *)&to, sizeof to));
    if_echoed(one);
}
ATTEMPT(udp_connected, "udp", NETWORK_NOT_ON, ANYONE) { struct sockaddr_in to = host("UDP_PORT"); connected(AF_INET, SOCK_DGRAM, 0, &to, sizeof to); }
ATTEMPT(udp_over_mapped_address, "udp", NETWORK_NOT_ON, ANYONE) { struct sockaddr_in6 to = mapped_host("UDP_PORT"); connected(AF_INET6, SOCK_DGRAM, 0, &to, sizeof to); }
ATTEMPT(udp_many_messages, "udp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("UDP_PORT");
    struct iovec part = {WORD, strlen(WORD)};
    struct mmsghdr message = {.msg_hdr = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1}};
    int one = must(socket(AF_INET, SOCK_DGRAM, 0));
    must(sendmmsg(one, &message, 1, 0));
    if_echoed(one);
}
ATTEMPT(udp_spliced, "udp", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("UDP_PORT");
    int ends[2], one = must(socket(AF_INET, SOCK_DGRAM, 0));
    must(connect(one, (void *)&to, sizeof to));
    must(pipe(ends));
    must(write(ends[1], WORD, strlen(WORD)));
    must(splice(ends[0], NULL, one, NULL, strlen(WORD), 0));
    if_echoed(one);
}
// A question for a name, as a resolver would get it; the stage's listener sends the question back.
static const char question[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07windlass\x04test\x00\x00\x01\x00\x01";
static void resolved(int one, const char *bytes, size_t length) {
    char answer[128];
    must(send(one, bytes, length, MSG_NOSIGNAL));
    struct pollfd wait = {one, POLLIN, 0};
    if (poll(&wait, 1, 1500) <= 0) { errno = ETIMEDOUT; blocked(); }
    if (must(recv(one, answer, sizeof answer, 0)) > 0) escaped("a name could be carried out");
}
ATTEMPT(dns_question_over_udp, "dns", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("UDP_PORT");
    int one = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
    must(connect(one, (void *)&to, sizeof to));
    resolved(one, question, sizeof question - 1);
}
ATTEMPT(dns_question_over_tcp, "dns", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = host("TCP_PORT");
    int one = must(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
    must(connect(one, (void *)&to, sizeof to));
    resolved(one, question, sizeof question - 1);
}
static void resolver_socket(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, path);
    if (access(path, F_OK) < 0 && bare()) untried("no resolver listens at %s", path);
    must(connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (void *)&to, sizeof to));
    escaped("reached the resolver");
}
ATTEMPT(dns_through_name_cache, "dns", NETWORK_NOT_ON, ANYONE) { resolver_socket("/run/nscd/socket"); }
ATTEMPT(dns_through_systemd, "dns", NETWORK_NOT_ON, ANYONE) { resolver_socket("/run/systemd/resolve/io.systemd.Resolve"); }

// ---- below and beside ----

static int pinged(int type) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, given("HOST_ADDRESS"), &to.sin_addr) != 1) untried("HOST_ADDRESS is no address");
    int one = must(socket(AF_INET, type, IPPROTO_ICMP));
    struct { struct icmphdr header; char body[8]; } echo = {.header = {.type = ICMP_ECHO, .checksum = htons(0xf7ff)}};
    must(sendto(one, &echo, sizeof echo, 0, (void *)&to, sizeof to));
    struct pollfd wait = {one, POLLIN, 0};
    if (poll(&wait, 1, 1500) <= 0) { errno = ETIMEDOUT; blocked(); }
    escaped("the host answered a ping");
}
ATTEMPT(icmp_datagram, "icmp", NETWORK_NOT_ON, ANYONE) {
    char *range = content_of(must(open("/proc/sys/net/ipv4/ping_group_range", O_RDONLY)));
    long low = 1, high = 0;
    sscanf(range, "%ld %ld", &low, &high);
    if (bare() && (getgid() < low || getgid() > high)) untried("this group may not ping");
    pinged(SOCK_DGRAM);
}
ATTEMPT(icmp_raw, "raw", NETWORK_NOT_ON, ROOT) { pinged(SOCK_RAW); }
ATTEMPT(raw_with_own_header, "raw", NETWORK_NOT_ON, ROOT) { must(socket(AF_INET, SOCK_RAW, IPPROTO_RAW)); escaped("may send any packet"); }
ATTEMPT(raw_over_ip6, "raw", NETWORK_NOT_ON, ROOT) { must(socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6)); escaped("may send raw packets"); }
ATTEMPT(packet_raw, "packet", NETWORK_NOT_ON, ROOT) { must(socket(AF_PACKET, SOCK_RAW, htons(3))); escaped("may listen to the wire"); }
ATTEMPT(packet_datagram, "packet", NETWORK_NOT_ON, ROOT) { must(socket(AF_PACKET, SOCK_DGRAM, htons(3))); escaped("may listen to the wire"); }
ATTEMPT(vsock_listening, "vsock", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_vm any = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = VMADDR_PORT_ANY};
    must(bind(must(socket(AF_VSOCK, SOCK_STREAM, 0)), (void *)&any, sizeof any));
    escaped("the machine around this one could connect");
}
ATTEMPT(alg_hashed, "alg", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_alg name = {.salg_family = AF_ALG, .salg_type = "hash", .salg_name = "sha1"};
    int one = must(socket(AF_ALG, SOCK_SEQPACKET, 0));
    if (bind(one, (void *)&name, sizeof name) < 0 && errno != ENOENT) blocked();
    escaped("the kernel's ciphers can be used");
}

static void dumped(int protocol, const void *request, size_t length, int (*is_it)(struct nlmsghdr *)) {
    int one = must(socket(AF_NETLINK, SOCK_RAW, protocol));
    must(send(one, request, length, 0));
    static char answer[65536];
    for (;;) {
        struct pollfd wait = {one, POLLIN, 0};
        if (poll(&wait, 1, 1500) <= 0) break;
        int left = must(recv(one, answer, sizeof answer, 0));
        for (struct nlmsghdr *message = (void *)answer; NLMSG_OK(message, (unsigned)left); message = NLMSG_NEXT(message, left)) {
            if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) { errno = 0; return; }
            if (is_it(message)) escaped("the kernel told about the host's network");
        }
    }
}
static int other_than_loopback(struct nlmsghdr *message) {
    struct ifinfomsg *link = NLMSG_DATA(message);
    return message->nlmsg_type == RTM_NEWLINK && !(link->ifi_flags & IFF_LOOPBACK) && (link->ifi_flags & IFF_UP);
}
ATTEMPT(netlink_interfaces_listed, "netlink", NETWORK_NOT_ON, ANYONE) {
    if (!getenv("HOST_ADDRESS")) untried("the host has loopback only");
    struct { struct nlmsghdr header; struct rtgenmsg any; } request = {
        {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}, {AF_UNSPEC}};
    dumped(NETLINK_ROUTE, &request, sizeof request, other_than_loopback);
}
static int our_listener(struct nlmsghdr *message) {
    struct inet_diag_msg *found = NLMSG_DATA(message);
    return found->id.idiag_sport == htons(atoi(getenv("TCP_PORT")));
}
ATTEMPT(netlink_sockets_listed, "netlink", NETWORK_NOT_ON, ANYONE) {
    given("TCP_PORT");
    struct { struct nlmsghdr header; struct inet_diag_req_v2 which; } request = {
        {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = -1}};
    dumped(NETLINK_SOCK_DIAG, &request, sizeof request, our_listener);
}
ATTEMPT(netlink_device_events, "netlink", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = 1};
    must(bind(must(socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT)), (void *)&all, sizeof all));
    escaped("may listen to what happens to devices");
}
ATTEMPT(netlink_audit, "netlink", NETWORK_NOT_ON, ANYONE) { must(socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)); escaped("may speak to the audit system"); }
ATTEMPT(netlink_connector, "netlink", NETWORK_NOT_ON, ANYONE) { must(socket(AF_NETLINK, SOCK_DGRAM, NETLINK_CONNECTOR)); escaped("may speak to the connector"); }
ATTEMPT(netlink_firewall, "netlink", NETWORK_NOT_ON, ANYONE) { must(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)); escaped("may speak to the firewall"); }
ATTEMPT(network_table_read, "netlink", NETWORK_NOT_ON, ANYONE) {
    char *table = content_of(must(open("/proc/net/tcp", O_RDONLY)));
    if (strstr(table, text("0100007F:%04X", atoi(given("TCP_PORT"))))) escaped("saw who listens on the host");
}

#define FAMILY(name, family, type, protocol) \
    ATTEMPT(name, "family", NETWORK_NOT_ON, ANYONE) { must(socket(family, type, protocol)); escaped("made such a socket"); }
FAMILY(family_sctp, AF_INET, SOCK_STREAM, 132)
FAMILY(family_udplite, AF_INET, SOCK_DGRAM, 136)
FAMILY(family_bluetooth, 31, SOCK_RAW, 1)
FAMILY(family_can, 29, SOCK_RAW, 1)
FAMILY(family_tipc, 30, SOCK_RDM, 0)
FAMILY(family_rds, 21, SOCK_SEQPACKET, 0)
FAMILY(family_kcm, 41, SOCK_DGRAM, 0)
FAMILY(family_smc, 43, SOCK_STREAM, 0)
FAMILY(family_qipcrtr, 42, SOCK_DGRAM, 0)
FAMILY(family_phonet, 35, SOCK_DGRAM, 0)
ATTEMPT(family_key, "family", NETWORK_NOT_ON, ROOT) { must(socket(15, SOCK_RAW, 2)); escaped("made such a socket"); }
ATTEMPT(family_xdp, "family", NETWORK_NOT_ON, ROOT) { must(socket(44, SOCK_RAW, 0)); escaped("made such a socket"); }

// ---- sockets at paths and with abstract names ----

static struct sockaddr_un at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}
static void reached(const char *path) { struct sockaddr_un to = at(path); connected(AF_UNIX, SOCK_STREAM, 0, &to, sizeof to); }

ATTEMPT(unix_connected, "unix", BOTH, ANYONE) { reached(given("UNIX_SOCKET")); }
ATTEMPT(unix_connected_relatively, "unix", BOTH, ANYONE) {
    char *directory = text("%s", given("UNIX_SOCKET")), *slash = strrchr(directory, '/');
    *slash = 0;
    must(chdir(directory));
    reached(slash + 1);
}
ATTEMPT(unix_connected_through_symlink, "unix", BOTH, ANYONE) {
    must(symlink(given("UNIX_SOCKET"), prepared("s")));
    must(chdir(prepared("")));
    reached("s");
}
ATTEMPT(unix_connected_through_path_descriptor, "unix", BOTH, ANYONE) { reached(text("/proc/self/fd/%ld", must(open(given("UNIX_SOCKET"), O_PATH)))); }
ATTEMPT(unix_connected_through_proc_root, "unix", BOTH, ANYONE) {
    must(chdir("/proc/self/root"));
    reached(given("UNIX_SOCKET") + 1);
}
ATTEMPT(unix_connected_through_hard_link, "unix", BOTH, ANYONE) {
    must(link(given("UNIX_SOCKET"), prepared("s")));
    must(chdir(prepared("")));
    reached("s");
}
ATTEMPT(unix_socket_renamed_into_workspace, "unix", BOTH, ANYONE) {
    must(rename(given("UNIX_SOCKET"), prepared("s")));
    int here = open(".", O_PATH), one = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un to = at("s");
    int answer = chdir(prepared("")) < 0 ? -1 : connect(one, (void *)&to, sizeof to), error = errno;
    if (fchdir(here) < 0 || rename(prepared("s"), given("UNIX_SOCKET")) < 0) blocked();
    errno = error;
    must(answer);
    asked(one);
}
static socklen_t abstract(struct sockaddr_un *to, const char *name) {
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(to->sun_path + 1, name, strlen(name));
    return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
}
ATTEMPT(unix_abstract_connected, "unix", BOTH, ANYONE) {
    struct sockaddr_un to;
    socklen_t length = abstract(&to, given("ABSTRACT"));
    connected(AF_UNIX, SOCK_STREAM, 0, &to, length);
}
ATTEMPT(unix_abstract_connected_from_thread_of_child, "unix", BOTH, ANYONE) {
    struct sockaddr_un to;
    socklen_t length = abstract(&to, given("ABSTRACT"));
    int one = must(socket(AF_UNIX, SOCK_STREAM, 0)), status;
    pid_t child = must(fork());
    if (child == 0) _exit(connect(one, (void *)&to, length) < 0 ? errno : 0);
    waitpid(child, &status, 0);
    if ((errno = WEXITSTATUS(status))) blocked();
    asked(one);
}
// Datagrams carry no answer back to a socket without a name, so ours gets one. Arrival is told by the stage's echo.
static int datagram_with_name(void) {
    int one = must(socket(AF_UNIX, SOCK_DGRAM, 0));
    sa_family_t family = AF_UNIX;
    must(bind(one, (void *)&family, sizeof family));
    return one;
}
ATTEMPT(unix_datagram_sent, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("UNIX_DATAGRAM"));
    int one = datagram_with_name();
    must(sendto(one, WORD, strlen(WORD), 0, (void *)&to, sizeof to));
    escaped("the outside has a message");
}
ATTEMPT(unix_datagram_connected, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("UNIX_DATAGRAM"));
    int one = datagram_with_name();
    must(connect(one, (void *)&to, sizeof to));
    must(write(one, WORD, strlen(WORD)));
    escaped("the outside has a message");
}
// Pairs are allowed, as everybody needs them; one end of a pair of datagram sockets can be pointed elsewhere.
ATTEMPT(unix_pair_pointed_elsewhere, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("UNIX_DATAGRAM"));
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    must(connect(pair[0], (void *)&to, sizeof to));
    must(write(pair[0], WORD, strlen(WORD)));
    escaped("the outside has a message");
}
// A message may reach the other end of the pair instead, whatever address it had: that is where it belongs.
static void if_elsewhere(int other_end) {
    char answer[64] = {0};
    if (recv(other_end, answer, sizeof answer - 1, MSG_DONTWAIT) > 0) { errno = EISCONN; blocked(); }
    escaped("the outside has a message");
}
ATTEMPT(unix_pair_sent_elsewhere, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("UNIX_DATAGRAM"));
    struct iovec part = {WORD, strlen(WORD)};
    struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    must(sendmsg(pair[0], &message, 0));
    if_elsewhere(pair[1]);
}
ATTEMPT(unix_pair_many_sent_elsewhere, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("UNIX_DATAGRAM"));
    struct iovec part = {WORD, strlen(WORD)};
    struct mmsghdr message = {.msg_hdr = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1}};
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    must(sendmmsg(pair[0], &message, 1, 0));
    if_elsewhere(pair[1]);
}
static void service(const char *path) {
    if (access(path, F_OK) < 0 && bare()) untried("nobody listens at %s", path);
    struct sockaddr_un to = at(path);
    must(connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (void *)&to, sizeof to));
    escaped("reached %s", path);
}
ATTEMPT(unix_docker, "unix", BOTH, ROOT) { service("/var/run/docker.sock"); }
ATTEMPT(unix_system_bus, "unix", BOTH, ANYONE) { service("/run/dbus/system_bus_socket"); }
ATTEMPT(unix_system_manager, "unix", BOTH, ANYONE) { service("/run/systemd/private"); }

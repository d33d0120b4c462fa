// SPDX-License-Identifier: Apache-2.0

#if Redis
/// How a jar came to be logged in (``RedisJar/ensureLoggedIn(to:within:isLoggedIn:logIn:)``).
public enum LoginOutcome: Hashable, Sendable {
    /// The jar was already logged in.
    case alreadyLoggedIn
    /// This process logged in.
    case loggedIn
    /// Another process logged in meanwhile.
    case loggedInByAnother
}
#endif

// SPDX-License-Identifier: Apache-2.0

// Re-exports the modules that have types of the API, so that most programs need only `import Beeline`.
@_exported public import CookieJar
@_exported public import DirectHTTP
@_exported public import HTTPDNS
@_exported public import HTTPTypes
@_exported public import Names

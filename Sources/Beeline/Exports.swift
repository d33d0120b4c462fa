// SPDX-License-Identifier: Apache-2.0

// `import Beeline` is the one import that most programs need: what its API speaks of comes with it.
@_exported public import CookieJar
@_exported public import DirectHTTP
@_exported public import HTTPDNS
@_exported public import HTTPTypes
@_exported public import Names

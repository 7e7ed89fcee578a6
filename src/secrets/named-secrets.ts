// Finds values by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `password: …`. Code speaks of secrets all
// the time, so that a value has to look like one: neither a variable, a type, a path nor a word.

import { blankEscapes } from './escapes.ts'
import type { Find, SecretKind } from './kinds.ts'
import { isStandIn } from './placeholder.ts'

/** What names of secrets end in, before `_KEY`, `_VALUE` and the like. */
const NAME =
  /secret|token|passw(?:or)?d|passphrase|pwd|(?:api|access|auth|account|master|signing|encryption|private|service|license|storage|admin|deploy)[_-]?key|credential|authorization|x-api-key|(?<![A-Za-z0-9])_auth\b/gi

/** The rest of the name, the sign, and the opening quote of the value, if any. Quotes may be escaped: `{\"token\": \"…\"}`. */
const ASSIGNED =
  /(?<suffix>s?(?:[_-]?(?:access|secret|signing|encryption|api|auth|key|base|value|hash|token|string|[0-9])){0,3})(?<close>\\?["'`])?\]?(?<sign>[ \t]{0,8}(?::=|=>|=(?![=>~])|:(?![:=]))[ \t]{0,8})(?<scheme>(?:(?:Bearer|Basic|token|Token) )?)(?<open>\\{0,3}["'`])?/iy

/** A value without quotes, and one in quotes, up to the quote that closes it. */
const BARE = /[^\s\x00-\x1f"'`,;<>(){}[\]\\]{6,512}/y
/** A value in a query, which the next field ends. */
const FIELD = /[^\s\x00-\x1f"'`,;<>(){}[\]\\&#]{6,512}/y
const QUOTED: Readonly<Record<string, RegExp>> = {
  '"': /(?:[^"\\\s]|\\[^\sn]){6,512}(?=")/y,
  "'": /(?:[^'\\\s]|\\[^\sn]){6,512}(?=')/y,
  '`': /(?:[^`\\\s]|\\[^\sn]){6,512}(?=`)/y,
}
/** A value in escaped quotes: the first backslash ends it. */
const ESCAPED = /[^"'`\\\s]{6,512}(?=\\{1,3}["'`])/y

/** All secrets of a text that only their names tell, in their order. */
export function findNamedSecrets(text: string): Find[] {
  const finds: Find[] = []
  for (const { 0: name, index } of text.matchAll(NAME)) {
    ASSIGNED.lastIndex = index + name.length
    const assigned = ASSIGNED.exec(text)?.groups
    if (assigned === undefined) continue
    const start = ASSIGNED.lastIndex
    // In a line of JSON a newline is an escape, as long as what stands for it here.
    const before = text.slice(Math.max(0, index - LONGEST_NAME), index).replaceAll('\\n', '\n\n')
    const head = /[A-Za-z0-9_.$-]{0,64}$/.exec(blankEscapes(before))?.[0] ?? ''
    const lead = before.slice(0, before.length - head.length)
    const value = valueAt(text, start, assigned.open, /[?&]$/.test(lead))
    if (value === undefined || isStandIn(value)) continue
    const end = start + value.length
    const fullName = head + name
    const isSecretOf = isSecret(value, {
      isOfPassword: /^p(?:ass|w)/i.test(name),
      isQuoted: assigned.open !== undefined,
      isTight: assigned.sign === '=',
      isCapital: fullName.toUpperCase() === fullName,
      isField: /[;?&]$/.test(lead) || head.startsWith('--'),
      isOwnLine: BEFORE_LINE.test(lead) && AFTER_LINE.test(text.slice(end, end + 3)),
    })
    if (isSecretOf) finds.push({ kind: kindOf(name, assigned.suffix ?? '', value), start, end })
  }
  return finds
}

/** The longest beginning of a name that is looked at. */
const LONGEST_NAME = 64
const BEFORE_LINE = /(?:^|[\r\n]|\\n)(?:[ \t>+]|- |["']){0,40}$/
const AFTER_LINE = /^(?:[ \t]{0,2}(?:$|[\r\n#]|\\[nr"])|["'`])/

function valueAt(text: string, start: number, open: string | undefined, isInQuery: boolean): string | undefined {
  const bare = isInQuery ? FIELD : BARE
  const pattern = open === undefined ? bare : open.length > 1 ? ESCAPED : (QUOTED[open] ?? bare)
  pattern.lastIndex = start
  return pattern.exec(text)?.[0]
}

/** How a value is assigned to a name. */
interface Writing {
  readonly isOfPassword: boolean
  readonly isQuoted: boolean
  /** No spaces around an equals sign, as in an environment and on a command line. */
  readonly isTight: boolean
  /** Whether the name is in capitals. */
  readonly isCapital: boolean
  /** An option, or a field of a query or a connection string. */
  readonly isField: boolean
  /** Whether the name begins its line and the value ends it, as in YAML and INI. */
  readonly isOwnLine: boolean
}

const hasDigit = (value: string) => /\d/.test(value)
const hasLetter = (value: string) => /[A-Za-z]/.test(value)

/** A variable, a call, a path, an address, a date, a version or a type: what code and settings assign instead of a secret. */
const OTHER_VALUE =
  /^(?:[$%@&*!<{([#].*|--?[a-z].*|(?:~|\.{1,2}|[A-Za-z]:)?[/\\].*[/\\].*|[a-z][a-z0-9+.-]{1,20}:\/\/.*|[a-zA-Z_$][\w$]{0,99}(?:(?:\.|\?\.|::|->)[a-zA-Z_$][\w$]{0,99}){1,12}[!?]?|v?\d[\d.,:eExX_-]{0,40}(?:[a-z]{1,3})?|\d{4}-\d\d-\d\dT?[\d:.Z+-]{0,20}|[a-z]{1,30}(?:[-_/:.][a-z]{1,30}){0,8}|[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,8}|.*(?:\$\{|\{\{|\$\().*|true|false|null|none|undefined|(?:[A-Z][a-z]{1,20}){1,4}\d{0,3}(?:[A-Z][a-z]{1,20}){0,4}|[a-z]{1,20}(?:[A-Z][a-z]{1,20}){1,6}\d?|(?:sha|md|aes|base|utf|hs|rs|es|int|float|uint)-?\d{1,4}.{0,8})$/s

function isSecret(value: string, writing: Writing): boolean {
  const { isOfPassword, isQuoted, isTight, isCapital, isField, isOwnLine } = writing
  if (OTHER_VALUE.test(value) || (!isOfPassword && /^[a-z]{1,20}[-_.]?\d{0,2}$/i.test(value))) return false
  const isMixed = hasDigit(value) && hasLetter(value)
  const isMixedOrSigned = isMixed || /[^A-Za-z0-9_.:$/-]/.test(value)
  const least = isOfPassword ? 6 : 8
  if (value.length < least) return false
  if (isQuoted) return isOfPassword ? isMixedOrSigned : isMixed
  if (isTight && isCapital) return isMixedOrSigned
  if (isTight && isField) return isMixed
  if (isOwnLine && isOfPassword) return isMixed
  if (!isTight && !isOwnLine) return isMixed && value.length >= 20
  // A variable with a number is what stands here most often.
  return isMixed && (value.length >= 16 || !/^[A-Za-z_$][\w$.]*$/.test(value))
}

function kindOf(name: string, suffix: string, value: string): SecretKind {
  if (/^(?:secret|access)/i.test(name) && /key/i.test(name + suffix) && /^[A-Za-z0-9/+]{40}$/.test(value))
    return 'aws-secret-key'
  if (/^authorization/i.test(name)) return 'bearer-token'
  return 'named-secret'
}

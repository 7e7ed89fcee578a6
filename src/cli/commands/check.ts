// The words of `dsh-ref check`; what it does is ../check.ts.

import { options, READING, REDACT, TABLE_OR_JSON } from './common.ts'
import { COLOUR, ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref check` as data. */
export const check: CommandSpec = {
  name: 'check',
  args: '[session...]',
  takes: ['session'],
  summary: 'Verify logs completely.',
  examples: [
    'dsh-ref check login-fix',
    'dsh-ref check --all',
    'dsh-ref check --all --format json | jq \'.logs[] | select(.status != "ok")\'',
  ],
  notes: [
    'Every row is parsed, every checksum, fold rule and message checked, and whether another log has the same id. One line a log, one line a finding; see "dsh-ref help damaged-logs".',
    'With --all also what lies where a directory is due, what cannot be read and a root that is missing, each a line of its own. A severity of "issue" is what --strict refuses in every command; "refused-by-dsh" and "note" are of check alone.',
    'With --secrets a line for each event and kind of secret, as rule "secret" of severity "issue": never its value. Best effort; docs/secrets.md lists the kinds.',
  ],
  groups: [
    options(
      { flags: '--all', summary: 'check every session of the roots' },
      { flags: '--secrets', summary: 'look for secrets as well, also in results of tools and in what was replaced' },
      TABLE_OR_JSON,
      ...REDACT,
    ),
    READING,
  ],
  statuses: [2, 3, 4],
  ownStatuses: {
    4: 'a log or place is corrupt, unsupported or unreadable; with --strict also when there is any issue',
  },
  environment: [...ROOTS, 'DSH_REF_REDACT', ...COLOUR],
  load: async () => (await import('../check.ts')).check,
}

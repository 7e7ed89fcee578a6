// The words of `dsh-ref config`; what it does is ../config.ts.

import { options, TABLE_OR_JSON } from './common.ts'
import { CACHE_PLACES, ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref config` as data. */
export const config: CommandSpec = {
  name: 'config',
  summary: 'Print the settings that hold and where each comes from.',
  examples: ['dsh-ref config', 'dsh-ref config --format json | jq .settings.roots'],
  notes: [
    'An option goes before the environment, the environment before the file dsh-ref.json in $XDG_CONFIG_HOME, else ~/.config. Its keys are the settings that are printed; paths in it are relative to its directory. A key that is unknown or wrong is refused by every command.',
  ],
  groups: [options(TABLE_OR_JSON)],
  statuses: [2],
  environment: [...ROOTS, 'DSH_REF_REDACT', 'DSH_REF_SPILL_DIR', ...CACHE_PLACES],
  load: async () => (await import('../config.ts')).config,
}

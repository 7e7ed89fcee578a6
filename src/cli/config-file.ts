// Where the configuration file is, and how its settings come in behind options and environment. What may stand in it is
// config-schema.ts, which is loaded only when there is a file.

import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Config } from './config-schema.ts'
import type { CommandOptions } from './print.ts'
import type { Environment } from './shell.ts'

/** Settings of the file that a variable of the environment goes before. */
const VARIABLES = { spillDir: 'DSH_REF_SPILL_DIR', cacheDir: 'DSH_REF_CACHE_DIR', redact: 'DSH_REF_REDACT' } as const

/** Settings of the file that only an option goes before. */
const OPTIONS = [
  'maxReferences',
  'maxReferenceBytes',
  'contextWindow',
  'referenceContextFraction',
  'maxRowBytes',
  'maxLogBytes',
  'maxWindowBytes',
] as const

/** `dsh-ref.json` in the configuration directory of the XDG rules, by which a relative one counts as unset. */
export function configPath(env: Environment, home: string): string {
  const { XDG_CONFIG_HOME: directory = '' } = env
  return join(isAbsolute(directory) ? directory : join(home, '.config'), 'dsh-ref.json')
}

/** Reads the file, if there is one; refuses one that is not in order. */
export async function readConfig(env: Environment, findHome: () => string): Promise<Config> {
  let home = ''
  try {
    home = findHome()
  } catch {
    if (!isAbsolute(env.XDG_CONFIG_HOME ?? '')) return {} // nobody's home: there is no place for a file
  }
  const path = configPath(env, home)
  return existsSync(path) ? (await import('./config-schema.ts')).loadConfig(path, home) : {}
}

/** The environment, with what the file sets and no variable does. */
export function environmentWith(config: Config, env: Environment): Environment {
  const added = Object.entries(VARIABLES).flatMap(([key, variable]) => {
    const value = config[key as keyof typeof VARIABLES]
    return value !== undefined && !env[variable] ? [[variable, String(value)] as const] : []
  })
  return added.length === 0 ? env : { ...env, ...Object.fromEntries(added) }
}

/** The options of a command, with what the file sets and no option does. `names` are the options that there are. */
export function optionsWith(config: Config, options: CommandOptions, names: ReadonlySet<string>): CommandOptions {
  const added: Record<string, string> = {}
  for (const key of OPTIONS) {
    const value = config[key]
    if (value !== undefined && names.has(key) && options[key] === undefined) added[key] = String(value)
  }
  // An absolute budget goes before a window, but not one of the file before a window that was asked for.
  const asksForWindow = options.contextWindow !== undefined || options.referenceContextFraction !== undefined
  if (asksForWindow) delete added.maxReferenceBytes
  return { ...options, ...added }
}

// Whether a run masks secrets or refuses them: an option goes before $DSH_REF_REDACT, that before the configuration file.

import { invalidConfig } from '../errors.ts'
import type { Environment } from './shell.ts'

/** What a run does about secrets. */
export interface SecretRules {
  /** Mask them. */
  readonly redacts: boolean
  /** Print nothing when there is one. */
  readonly refuses: boolean
}

/** The rules of a run; `env` is the environment with what the configuration file sets. */
export function secretRules(options: Readonly<Record<string, unknown>>, env: Environment): SecretRules {
  const byEnvironment = redactsByEnvironment(env)
  return {
    redacts: typeof options.redact === 'boolean' ? options.redact : byEnvironment,
    refuses: options.failOnSecrets === true,
  }
}

/** `$DSH_REF_REDACT`: a word that is neither yes nor no is refused, since it may have been meant as yes. */
export function redactsByEnvironment({ DSH_REF_REDACT: value = '' }: Environment): boolean {
  if (value === '1' || value === 'true') return true
  if (value === '' || value === '0' || value === 'false') return false
  throw invalidConfig(`$DSH_REF_REDACT is ${JSON.stringify(value)}; give 1, true, 0 or false`, {
    option: 'DSH_REF_REDACT',
    value,
    allowed: '1, true, 0 or false',
  })
}

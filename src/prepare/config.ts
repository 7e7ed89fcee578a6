// Refuses options that no budget can be made of, before anything is read.

import { invalidConfig } from '../errors.ts'
import { MAX_REFERENCES } from './references.ts'
import type { BudgetOptions, SecretOptions } from './request.ts'

/** Throws `INVALID_CONFIG` when an option is out of its range. */
export function checkConfig({
  maxReferenceBytes,
  contextWindow,
  referenceContextFraction,
  maxReferences,
  redact,
  failOnSecrets,
}: BudgetOptions & Pick<SecretOptions, 'redact' | 'failOnSecrets'>): void {
  const isCount = (value: number, most: number) => Number.isSafeInteger(value) && value >= 1 && value <= most
  const refuse = (option: string, value: unknown, allowed: string) => {
    throw invalidConfig(`${option} is ${value}; it takes ${allowed}`, { option, value, allowed })
  }
  if (maxReferenceBytes !== undefined && !isCount(maxReferenceBytes, Number.MAX_SAFE_INTEGER)) {
    refuse('maxReferenceBytes', maxReferenceBytes, 'a whole number of bytes from 1 on')
  }
  if (contextWindow !== undefined && !isCount(contextWindow, Number.MAX_SAFE_INTEGER)) {
    refuse('contextWindow', contextWindow, 'a whole number of tokens from 1 on')
  }
  if (referenceContextFraction !== undefined && !(referenceContextFraction >= 0 && referenceContextFraction <= 1)) {
    refuse('referenceContextFraction', referenceContextFraction, 'a number from 0 to 1')
  }
  if (maxReferences !== undefined && !isCount(maxReferences, MAX_REFERENCES)) {
    refuse('maxReferences', maxReferences, `a whole number from 1 to ${MAX_REFERENCES}`)
  }
  // Of an untyped caller: what is no boolean must not be taken for no.
  for (const [option, value] of Object.entries({ redact, failOnSecrets })) {
    if (value !== undefined && typeof value !== 'boolean') refuse(option, value, 'true or false')
  }
}

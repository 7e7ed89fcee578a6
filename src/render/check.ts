// What `check` says to a person: one line a log, one line a finding. Strings only.

import { shortJson } from '../text/json-bytes.ts'
import type { CheckedLog, CheckedPlace, CheckStatus, Finding } from '../types.ts'
import { visible } from './visible.ts'

/** Gives the word for a status its colour. */
type Paint = (status: CheckStatus, text: string) => string

/** The words of one checked log, without a newline at its end. */
export function renderCheckedLog(log: CheckedLog, paint: Paint): string {
  const { path, sessionId, formatVersion, events } = log
  const facts = [
    sessionId === null ? undefined : visible(sessionId),
    formatVersion === null ? undefined : `version ${formatVersion}`,
    `${events} ${events === 1 ? 'event' : 'events'}`,
    visible(path),
  ].filter((fact) => fact !== undefined)
  return renderChecked(log, facts.join('  '), paint)
}

/** The words of one checked place, without a newline at its end. */
export function renderCheckedPlace(place: CheckedPlace, paint: Paint): string {
  return renderChecked(place, visible(place.path), paint)
}

function renderChecked({ status, findings }: CheckedPlace, facts: string, paint: Paint): string {
  const head = `${paint(status, status.padEnd(11))} ${facts}`
  return [head, ...findings.map((finding) => `    ${renderFinding(finding)}`)].join('\n')
}

function renderFinding({ severity, rule, message, line, frame, seq, expected, actual, count }: Finding): string {
  const place = [
    frame === undefined ? undefined : `frame ${frame}`,
    line === undefined ? undefined : `line ${line}`,
    seq === undefined ? undefined : `seq ${seq}`,
    count === undefined ? undefined : `${count} times`,
  ].filter((part) => part !== undefined)
  const where = place.length === 0 ? '' : ` (${place.join(', ')})`
  // The refusal of a wrong shape says both in words already.
  const isSaid = (expected === undefined && actual === undefined) || message.endsWith(`got ${shortJson(actual)}`)
  const comparison = isSaid ? '' : `; expected ${shortJson(expected)}, got ${shortJson(actual)}`
  return visible(`${severity} ${rule}${where}: ${message}${comparison}`)
}

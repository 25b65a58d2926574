import { normalEmail } from '@sluice/accounts'
import { type AuditAction, type AuditLogFilter, auditActions } from '@sluice/audit-log'
import { parseFilterTime } from '@sluice/database'

/** The fields of the form that filters entries, as text. */
export const filterNames = ['who', 'what', 'since', 'until'] as const

/** Values of filters from an address. */
export type FilterTexts = Readonly<Record<(typeof filterNames)[number], string>>

/** A filter whose text is not valid. */
export type InvalidFilter = Exclude<keyof FilterTexts, 'who'>

const isAction = (text: string): text is AuditAction => Object.hasOwn(auditActions, text)

/** Parses filters. Empty texts set no filter. Returns the name of the first filter that is not valid instead. */
export function parseAuditFilter(texts: FilterTexts): AuditLogFilter | { invalid: InvalidFilter } {
  const who = texts.who.trim()
  const { what } = texts
  const [since, until] = [parseFilterTime(texts.since), parseFilterTime(texts.until)]
  if (what !== '' && !isAction(what)) return { invalid: 'what' }
  if (since === null) return { invalid: 'since' }
  if (until === null) return { invalid: 'until' }
  return {
    who: who === '' ? undefined : (normalEmail(who) ?? who),
    what: isAction(what) ? what : undefined,
    since,
    until,
  }
}

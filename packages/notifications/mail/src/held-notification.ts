import { holdReasonText, type ImportChanges } from '@sluice/contract'
import { changeFacts } from './change-facts.ts'
import { type Content, renderContent } from './content.ts'
import { quoted, subjectWithNames } from './quoted.ts'

/** An import that is held for approval, with the counts of its check (changes.md §2, Held). */
export interface HeldImport {
  importId: string
  appName: string
  /** The name that the file has for its owner; undefined if it is not known. */
  fileName: string | undefined
  /** Why the import is held, such as `changed_percent is 31.4, over 20`. */
  reasons: readonly string[]
  rowsTotal: number
  rowsFailed: number
  /** What the import would change; undefined if it was not counted. */
  changes: ImportChanges | undefined
  /** When the import fails unless somebody approves it. */
  until: Date
  /** The import's page in the dashboard; undefined if its address is not known. */
  pageUrl: string | undefined
}

/**
 * Returns the mail that an import is held: why, the counts of its check, and how to approve or cancel it until when.
 */
export function heldNotification(held: HeldImport): Content {
  const { importId, appName, fileName, reasons, rowsTotal, rowsFailed, changes, until, pageUrl } = held
  const blocks = [
    `A profile import of the app ${quoted(appName)} is held: nothing is applied until somebody approves it.`,
    ['Why it is held:', ...reasons.map(holdReasonText)].join('\n'),
    {
      facts: {
        ...(fileName !== undefined && { File: quoted(fileName) }),
        'Rows read': count.format(rowsTotal),
        'Rows with errors': count.format(rowsFailed),
        ...changeFacts(changes),
        'Held until': `${until.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
        Import: importId,
      },
    },
    `Approve or cancel it ${pageUrl === undefined ? 'in the dashboard' : 'on its page'}, or approve it with the command:\nsluice import approve ${importId}`,
    'Later imports of the app wait for this one. Without approval, it fails when the time has passed.',
  ]
  const subject = subjectWithNames('Profile import held for approval', { fileName, appName })
  const links = pageUrl === undefined ? [] : [{ url: pageUrl, label: 'Approve or cancel the import' }]
  return renderContent(subject, blocks, ...links)
}

const count = new Intl.NumberFormat('en-US')

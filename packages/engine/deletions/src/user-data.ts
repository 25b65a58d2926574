import { removeRefusedFiles, removeUploadsBeforeDeletion } from '@sluice/bucket-uploads'
import type { Schema } from '@sluice/database'
import { removeExportsOfApp } from '@sluice/exports'
import { dropErrorRows, forgetFileTraces, removeFilesOfApp, removeStoredChecks, removeUndoLines } from '@sluice/imports'
import { forgetFileNames } from '@sluice/webhooks'
import type { DeletionContext } from './context.ts'
import { type DueCompletion, deleteUsers } from './delete-users.ts'
import { lockApp } from './lock.ts'

type Column = { [Table in keyof Schema]: `${Table}.${keyof Schema[Table] & string}` }[keyof Schema]

/** Keys of the bucket that begin in the same way, such as `uploads/<app>/`. */
type Prefix = `${string}/<app>/${string}`

/** What a step of a completion did. */
interface Cleared {
  /** Registered users who were deleted. */
  users?: number
  /** Imports, exports and files that storage did not remove. The next run tries them again. */
  failures?: number
}

interface Step {
  /** The columns and prefixes from which the step removes what clients sent about the users. */
  clears: readonly (Column | Prefix)[]
  run(context: DeletionContext, due: DueCompletion, now: Date): Promise<Cleared>
}

/**
 * Every column and every prefix of the bucket that can hold what clients sent about users, by the steps that a
 * completion takes in this order (design.md §3, Deleting; design.md §3, Deletion: unknown user IDs). A test compares
 * the list with the schema and with the stores. Each step commits on its own, may be repeated, and throws if the
 * process shuts down.
 */
export const userData: readonly Step[] = [
  {
    clears: ['deletion_request_users.user_id', 'profiles.attributes', 'profiles.user_id', 'users.user_id'],
    run: async (context, due, now) => ({ users: await deleteUsers(context, due, now) }),
  },
  // changes.md §1, Elsewhere.
  // Of imports that have not ended.
  { clears: ['import_chunks.content'], run: dropErrorRowsOfApp },
  {
    clears: ['apps/<app>/imports/', 'imports.warnings'],
    run: async (context, { appId }) => ({ failures: await removeStoredChecks(context, appId) }),
  },
  // Undos read their lines again, from a file that the next step removes.
  {
    clears: ['undo_lines.user_id', 'undo_lines.befores', 'undo_lines.afters'],
    run: async ({ db, shutdown }, { appId }) => {
      await removeUndoLines(db, appId, shutdown)
      return {}
    },
  },
  {
    clears: ['apps/<app>/imports/', 'import_chunks.content'],
    run: async (context, { appId }) => ({ failures: await removeFilesOfApp(context, appId) }),
  },
  {
    clears: ['apps/<app>/imports/', 'bucket_uploads.file_name'],
    run: async (context, { appId }) => ({ failures: await removeUploadsBeforeDeletion(context, appId) }),
  },
  {
    clears: ['uploads/<app>/', 'mails.html', 'mails.subject', 'mails.text'],
    run: async (context, { appId }) => ({ failures: await removeRefusedFiles(context, appId) }),
  },
  {
    clears: ['apps/<app>/exports/'],
    run: async (context, { appId }) => ({ failures: await removeExportsOfApp(context, appId) }),
  },
  {
    clears: ['imports.file_name', 'imports.warnings', 'mails.html', 'mails.subject', 'mails.text'],
    run: async (context, { appId }) => {
      await forgetFileTraces(context, appId)
      return {}
    },
  },
  {
    clears: ['webhook_deliveries.body'],
    run: async ({ db, shutdown }, { appId }) => {
      await forgetFileNames(db, appId, shutdown)
      return {}
    },
  },
]

/** Drops rows of deleted users under the lock of deletions, so that no other transaction deletes a user meanwhile. */
async function dropErrorRowsOfApp({ db }: DeletionContext, { appId }: DueCompletion): Promise<Cleared> {
  await db.transaction().execute(async (tx) => {
    await lockApp(tx, appId)
    await dropErrorRows(tx, appId)
  })
  return {}
}

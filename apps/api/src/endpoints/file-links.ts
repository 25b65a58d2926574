import { errors, limits } from '@sluice/contract'
import { followExportLink } from '@sluice/exports'
import { followFileLink } from '@sluice/imports'
import { z } from 'zod'
import { answer } from '../answers.ts'
import type { ApiContext } from '../context.ts'
import { endpoint, refusal } from '../endpoint.ts'

/** Where a link leads: to the file's address in storage, or nowhere. */
type Followed = { url: string } | 'unknown' | 'expired'

/** What differs between the links to files. */
interface FileLink {
  id: string
  route: 'GET /error_files/{token}' | 'GET /changes_files/{token}' | 'GET /export_files/{token}'
  tag: 'Bulk import' | 'Profiles'
  summary: string
  description: string
  /** An example of the secret part of the link. */
  token: string
  /** When the link is answered as expired. */
  expired: string
  follow(context: ApiContext, token: string): Promise<Followed>
}

/**
 * Returns the endpoint of a link, which redirects to a file in storage. It needs no other authentication than the
 * token.
 */
const fileLink = ({ token, expired, follow, ...link }: FileLink) =>
  endpoint({
    ...link,
    extension: true,
    isPublic: true,
    params: { token: z.string().meta({ description: 'The secret part of the link.', example: token }) },
    answer: {
      status: 302,
      description: 'The address of the file, which is valid for 5 minutes.',
      headers: {
        Location: { description: 'Address of the file.', schema: { type: 'string', format: 'uri' }, required: true },
      },
    },
    refusals: [
      refusal('unknown', 'The link is unknown.', errors.notFound()),
      refusal('expired', expired, errors.linkExpired()),
    ],
    serve:
      (context) =>
      async ({ params, reply }) => {
        const followed = await follow(context, params.token)
        if (followed === 'unknown') return answer(reply, errors.notFound())
        if (followed === 'expired') return answer(reply, errors.linkExpired())
        return reply.header('Referrer-Policy', 'no-referrer').redirect(followed.url, 302)
      },
  })

/** The link in result mails and views (design.md §3, Error file). */
export const errorFile = fileLink({
  id: 'getErrorFile',
  route: 'GET /error_files/{token}',
  tag: 'Bulk import',
  summary: 'Download the error file of an import',
  description: [
    `The link in result mails and in \`error_file_url\`. It is valid for ${limits.errorFileLinkDays} days. The file has the rows`,
    'that could not be applied, with the reasons in the first column, `SERVICE_ERRORS`. Correct the rows and import the file again.',
  ].join('\n'),
  token: '0b9d4d1e.c2VjcmV0',
  expired: 'The link has expired.',
  follow: (context, token) => followFileLink(context, 'errors', token),
})

/** The link in the view of an import that keeps its changes (changes.md §1, The changes file). */
export const changesFile = fileLink({
  id: 'getChangesFile',
  route: 'GET /changes_files/{token}',
  tag: 'Bulk import',
  summary: 'Download the changes file of an import',
  description: [
    `The link in \`changes_file_url\`. It is valid for ${limits.errorFileLinkDays} days. The file is a CSV in gzip, with a line`,
    'for each value that the import changed: `user_id`, `key`, `type`, `before` and `after`. No value is nothing, and an empty',
    'string is `""`.',
  ].join('\n'),
  token: '0b9d4d1e.c2VjcmV0',
  expired: 'The link has expired.',
  follow: (context, token) => followFileLink(context, 'changes', token),
})

/** The link in the view of an export (second-day.md §3, Exports). */
export const exportFile = fileLink({
  id: 'getExportFile',
  route: 'GET /export_files/{token}',
  tag: 'Profiles',
  summary: 'Download the file of an export',
  description: 'The link in `file_url`.',
  token: '5c0f7f1e.c2VjcmV0',
  expired: 'The link has expired, or the file was removed.',
  follow: ({ db, storage }, token) => followExportLink(db, storage, token),
})

import type { ApiDocument } from './document-types.ts'
import { bulkImportPath, importStatusPath } from './operations/bulk-import.ts'
import { bulkImportV2Path } from './operations/bulk-import-v2.ts'
import { deletionPath } from './operations/deletion.ts'
import { exportFilePath, exportPath, exportsPath } from './operations/exports.ts'
import { profileKeysPath } from './operations/profile-keys.ts'
import { profileUpdatePath } from './operations/profile-update.ts'
import { docsPath, documentPath, errorFilePath, livePath, metricsPath, readyPath } from './operations/service.ts'
import { userValuePath } from './operations/user-values.ts'
import { userPath, usersPath } from './operations/users.ts'
import { schemas } from './schemas.ts'

const description = `Sluice keeps the profiles of an app's end users. A profile has values by key, and each key has one type. Profiles are
updated one user at a time, or in bulk from CSV files.

**Requests.** Bodies are JSON in UTF-8 and have at most 1 MiB, unless an endpoint says otherwise. Endpoints marked with
\`token\` need an API token in the header \`X-Service-Token\`. An unknown path is answered 404, and so is a method that a path
does not have. HEAD is answered wherever GET is, and counts as GET.

**Rate limits.** Requests are counted per API token and function in fixed windows. The headers \`X-RateLimit-Limit\`,
\`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` describe the current window. The \`Retry-After\` of a 429 says how long to wait.

**Errors** have \`error.messages\`, and some have an \`error.code\`. Errors that are the same at every endpoint also have a
\`status\`.

**Extensions** are additions of this implementation to the documented service. \`x-sluice-extension\` marks them.`

/**
 * Returns the OpenAPI 3.1 document of the API. It is made from the schemas and checks that the API uses, and from the
 * catalogue of its errors.
 *
 * @example
 * ```ts
 * Object.keys(openApiDocument('https://api.example.com').paths['/v1/users']) // → ["post"]
 * ```
 */
export function openApiDocument(apiUrl: string): ApiDocument {
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice API', version: '1.0.0', description },
    servers: [{ url: apiUrl }],
    tags: [
      { name: 'Deletion', description: 'Deletion of the data of users.' },
      { name: 'Profiles', description: 'Users and their profiles.' },
      { name: 'Bulk import', description: 'Profiles of many users from a file.' },
      { name: 'Operation', description: 'Health and metrics for operators, and this document.' },
    ],
    paths: {
      '/v3/user_data_deletions': deletionPath,
      '/v2/user_profiles': profileUpdatePath,
      '/v1/users': usersPath,
      '/v1/users/{user_id}': userPath,
      '/v1/users/{user_id}/profiles/{key}': userValuePath,
      '/v1/profile_keys': profileKeysPath,
      '/v1/exports': exportsPath,
      '/v1/exports/{export_id}': exportPath,
      '/export_files/{token}': exportFilePath,
      '/v3/user_profiles/bulk_import': bulkImportPath,
      '/v3/user_profiles/bulk_import/{import_id}': importStatusPath,
      '/v2/user_profiles/bulk_import': bulkImportV2Path,
      '/error_files/{token}': errorFilePath,
      '/healthz': livePath,
      '/readyz': readyPath,
      '/metrics': metricsPath,
      '/openapi.json': documentPath,
      '/docs': docsPath,
    },
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Service-Token',
          description: 'The API token of the app. Registering a new token revokes the current token at once.',
        },
      },
    },
  }
}

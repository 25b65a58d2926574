import type { ApiDocument } from './document-types.ts'
import { bulkImportPath, importStatusPath } from './operations/bulk-import.ts'
import { bulkImportV2Path } from './operations/bulk-import-v2.ts'
import { deletionPath } from './operations/deletion.ts'
import { profileUpdatePath } from './operations/profile-update.ts'
import { docsPath, documentPath, errorFilePath, livePath, metricsPath, readyPath } from './operations/service.ts'
import { usersPath } from './operations/users.ts'
import { schemas } from './schemas.ts'

const description = `Sluice keeps the profiles of an app's end users: values by key, each key of one type. They are updated
one user at a time, or in bulk from CSV files.

**Requests.** Bodies are JSON in UTF-8 unless an endpoint says otherwise, at most 1 MiB where nothing else is said. Every
endpoint that is marked so needs an API token in the header \`X-Service-Token\`. A path that does not exist, and a method that a path does
not have, are answered 404.

**Rate limits.** Requests are counted per app and function in fixed windows. Answers tell where you stand by
\`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`; a 429 tells in \`Retry-After\` how long to wait.

**Errors** have \`error.messages\`, some an \`error.code\`; those that are the same everywhere have a \`status\` beside it.

**Extensions** are what this implementation adds to the documented service: \`x-sluice-extension\` marks them.`

/** The OpenAPI 3.1 document of the API, from the schemas that it checks with and the catalogue of its errors. */
export function openApiDocument(apiUrl: string): ApiDocument {
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice API', version: '1.0.0', description },
    servers: [{ url: apiUrl }],
    tags: [
      { name: 'Deletion', description: 'Deletion of the data of users.' },
      { name: 'Profiles', description: 'Users and their profiles.' },
      { name: 'Bulk import', description: 'Profiles of many users from a file.' },
      { name: 'Operation', description: 'What operators look at.' },
    ],
    paths: {
      '/v3/user_data_deletions': deletionPath,
      '/v2/user_profiles': profileUpdatePath,
      '/v1/users': usersPath,
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
          description: 'The API token of the app. Registering a new one makes the one before unusable at once.',
        },
      },
    },
  }
}

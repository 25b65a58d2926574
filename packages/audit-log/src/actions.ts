/** Everything that the audit log records, with the words that pages show. */
export const auditActions = {
  'app.create': 'Created the app',
  'app.rename': 'Renamed the app',
  'app.delete': 'Deleted the app',
  'app.limits': 'Changed the limits of the app',
  'app.pause': 'Paused the imports of the app',
  'app.resume': 'Resumed the imports of the app',
  'service.pause': 'Paused the imports of all apps',
  'service.resume': 'Resumed the imports of all apps',
  'token.register': 'Registered a new API token',
  'access_key.create': 'Created an access key',
  'access_key.delete': 'Deleted an access key',
  'access_key.reencrypt': 'Encrypted the secrets of access keys anew',
  'member.add': 'Added a member',
  'member.invite': 'Invited a member',
  'member.remove': 'Removed a member',
  'member.mails': 'Changed which members get mails',
  'invitation.accept': 'Accepted an invitation',
  'invitation.withdraw': 'Withdrew an invitation',
  'operator.add': 'Added an operator',
  'operator.remove': 'Removed an operator',
  sign_in: 'Signed in',
  'sign_in.link': 'Created a sign-in link',
  'import.cancel': 'Cancelled an import',
  'import.retry': 'Retried an import',
  'deletion.request': 'Requested the deletion of users',
  'deletion.run': 'Ran the deletions that are due',
  'queue.change': 'Changed jobs on the queue board',
  'schema.migrate': 'Migrated the database',
} as const

/** An action that the audit log records. */
export type AuditAction = keyof typeof auditActions

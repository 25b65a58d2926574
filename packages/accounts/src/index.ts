export {
  createApp,
  findApp,
  listApps,
  registerToken,
  replaceToken,
  requireApp,
  showToken,
  type TokenSummary,
  UnknownApp,
} from './app.ts'
export { InvalidAccount, normalEmail, requireEmail } from './email.ts'
export { addMember, changeMembers, LastMember, listMembers, type Member, removeMember, sendMailsTo } from './members.ts'
export { newKeysOf, setNewKeys } from './new-keys.ts'
export { endSignIns } from './sign-ins.ts'
export { authenticator, tokenKey } from './token.ts'

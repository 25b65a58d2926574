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
export { InvalidAccount, isEmail, requireEmail } from './email.ts'
export { addMember, LastMember, listMembers, type Member, removeMember, sendMailsTo } from './members.ts'
export { authenticator } from './token.ts'

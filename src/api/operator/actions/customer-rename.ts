import { updateCustomer } from '../../../store/customers/customers.ts'
import { transact } from '../../../store/db/connection.ts'
import { action } from '../action.ts'
import { customerName, customerOf, requireFree, toRow } from './customers.ts'

export const rename = action<{ customer: string; name: string }>({
  command: 'customer rename',
  summary: 'gives a customer another name',
  route: 'POST /customers/:customer/rename',
  operands: ['customer', 'name'],
  fields: () => ({ name: customerName('name') }),
  examples: ['forumd customer rename acme "Acme Inc."'],
  run: ({ db, input: { customer, name }, record }) =>
    transact(db, () => {
      const before = customerOf(db, customer)
      if (name !== before.name) requireFree(db, 'name', name)
      updateCustomer(db, before.id, { name })
      const detail = { from: before.name, to: name }
      record({ action: 'customer.renamed', subject: before.id, subject_name: name, detail })
      return toRow(customerOf(db, before.id))
    }),
  print: ({ name }: { name: string }) => `the customer is ${name} now`,
})

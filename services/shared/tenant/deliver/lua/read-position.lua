-- read-position: conversation, user. The change at which this user's counter stands; '' on a broken chain.
return position(ARGV[5], ARGV[4]) or ''

"""Tools of an office as plain functions; the examples choose from them."""


def send_email(to: str, text: str) -> str:
    """Send an email to a colleague or customer."""
    return f"Sent to {to}: {text}"


def search_mailbox(words: str) -> str:
    """Search the mailbox for earlier emails."""
    return f"3 emails about {words}"


def book_room(hour: int) -> str:
    """Book a meeting room for an hour of the day."""
    return f"The blue room is booked for {hour}:00"


def cancel_booking(room: str) -> str:
    """Cancel the booking of a meeting room."""
    return f"The {room} room is free again"


def file_expense(amount: float, reason: str) -> str:
    """File an expense to be paid back, such as a taxi or a hotel."""
    return f"{amount:.2f} for {reason} will be paid back"


def convert_currency(amount: float, to: str) -> str:
    """Convert an amount of money into another currency."""
    return f"{amount * 1.1:.2f} {to}"


def order_lunch(dish: str) -> str:
    """Order lunch to the office."""
    return f"{dish} is on its way"


def translate(text: str, language: str) -> str:
    """Translate a text into another language."""
    return f"{text} ({language})"


def reset_password(user: str) -> str:
    """Reset the password of somebody who cannot log in."""
    return f"A new password was sent to {user}"


def print_document(name: str) -> str:
    """Print a document on the office printer."""
    return f"{name} is printed"


def set_absence(until: str) -> str:
    """Set an out-of-office note for a holiday or sick leave."""
    return f"Away until {until}"


def find_colleague(name: str) -> str:
    """Look up phone number and desk of a colleague."""
    return f"{name}: desk 12, phone 34"


FUNCTIONS = [
    send_email,
    search_mailbox,
    book_room,
    cancel_booking,
    file_expense,
    convert_currency,
    order_lunch,
    translate,
    reset_password,
    print_document,
    set_absence,
    find_colleague,
]
